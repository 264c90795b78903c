#include "kiln/isa/text/parse.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <utility>

#include "kiln/base/source.h"
#include "kiln/base/suggest.h"
#include "kiln/isa/default_arg.h"
#include "kiln/isa/text/parser.h"

namespace kiln::isa {

Program parse(std::string_view text, std::string file_name, const ParseOptions& options) {
  return Parser(text, std::move(file_name), options).run();
}

Program Parser::run() {
  header();
  statements(program_.body, 0);
  if (lexer_.peek().kind != Token::Kind::end) unexpected("a statement");
  return std::move(program_);
}

void Parser::header() {
  const Token& first = lexer_.peek();
  if (!first.is_word("kiln")) lexer_.fail(text_rules::kHeader, describe(first));
  lexer_.take();
  const Token& version = lexer_.peek();
  if (version.kind != Token::Kind::integer || version.magnitude != 1) {
    lexer_.fail(text_rules::kHeader, fmt::format("version {}", describe(version)), "version 1");
  }
  lexer_.take();
  if (!accept_word("program")) lexer_.fail(text_rules::kHeader, describe(lexer_.peek()));
  program_.name = expect_string("the program's name").value;
  expect_word("target");
  const Token target = expect_name("a target");
  if (!parse_target(target.name(), program_.target)) {
    std::vector<std::string_view> names;
    for (const Arch* a : all_archs()) names.push_back(a->name);
    lexer_.fail_at(target, text_rules::kWord, describe(target), fmt::format("{}", fmt::join(names, ", ")));
  }
  program_.nki = header_number("nki", kOldestNki, kNewestNki, kNewestNki);
  program_.lnc = header_number("lnc", 1, 2, 1);
  program_.fragment = accept_word("fragment");
}

// The number after a word of the header, or `otherwise` when the word is not there.
int Parser::header_number(std::string_view word, int least, int most, int otherwise) {
  if (!accept_word(word)) return otherwise;
  const Token token = lexer_.peek();
  const std::string allowed = fmt::format("{} {} to {}", word, least, most);
  const auto number = static_cast<int>(unsigned_integer(std::numeric_limits<int>::max(), allowed.c_str()));
  if (number < least || number > most) lexer_.fail_at(token, text_rules::kWord, describe(token), allowed);
  return number;
}

void Parser::statements(Block& body, int depth) {
  while (lexer_.peek().kind != Token::Kind::end && !lexer_.peek().is("}")) {
    if (!accept_word("register")) {
      body.push_back(statement(depth));
    } else if (depth == 0) {
      register_declaration();
    } else {
      lexer_.fail(text_rules::kSyntax, "a register declared inside a loop", "registers belong to the program");
    }
  }
}

Node Parser::statement(int depth) {
  const Token& t = lexer_.peek();
  if (t.is_word("tensor")) return {Node::Kind::declare, tensor_declaration()};
  if (t.is_word("loop") || t.is_word("for") || t.is_word("while")) return {Node::Kind::loop, loop(depth)};
  if (t.is("%")) return {Node::Kind::instruction, labelled_instruction()};
  if (t.kind == Token::Kind::name) return {Node::Kind::instruction, instruction()};
  unexpected("a statement");
}

void Parser::declare(const Token& name, std::unordered_map<std::string, std::uint32_t>& names, std::size_t id) {
  if (!names.emplace(name.name(), static_cast<std::uint32_t>(id)).second) {
    lexer_.fail_at(name, text_rules::kRedeclared, fmt::format("a second declaration of {}", describe(name)));
  }
}

void Parser::register_declaration() {
  const Token name = expect_name("a register's name");
  declare(name, registers_, program_.registers.size());
  program_.registers.push_back({std::string(name.name()), accept_word("frozen")});
}

TensorId Parser::tensor_declaration() {
  const int line = lexer_.take().line;
  const Token name = expect_name("a tensor's name");
  const auto id = static_cast<TensorId>(program_.tensors.size());
  declare(name, tensors_, id);
  expect(":");
  Tensor t = tensor_type();
  t.name = name.name();
  if (accept_word("at")) {
    expect("(");
    const std::int64_t partition = integer();
    expect(",");
    t.address = Address{partition, integer()};
    expect(")");
  }
  t.loc = location(line);
  program_.tensors.push_back(std::move(t));
  return id;
}

// [role] memory dtype [shape]
Tensor Parser::tensor_type() {
  Tensor t{};
  for (const Role role : {Role::input, Role::output, Role::inout, Role::internal}) {
    if (!accept_word(name(role))) continue;
    t.role = role;
    break;
  }
  const Token memory = expect_name("a memory");
  if (!parse_memory(memory.name(), t.memory)) {
    std::vector<std::string_view> names;
    for (int m = 0; m < kMemoryCount; ++m) names.push_back(name(static_cast<Memory>(m)));
    lexer_.fail_at(memory, text_rules::kWord, describe(memory), fmt::format("{}", fmt::join(names, ", ")),
                   did_you_mean(suggest(memory.name(), names)));
  }
  t.dtype = dtype();
  t.shape = shape();
  return t;
}

std::vector<std::int64_t> Parser::shape() {
  const Token start = lexer_.peek();
  std::vector<std::int64_t> dims;
  std::int64_t size = 1;
  list("[", "]", [&](std::size_t i) {
    if (i == kMaxRank) lexer_.fail(text_rules::kLength, "a ninth dimension");
    dims.push_back(integer());
    const bool overflow = __builtin_mul_overflow(size, dims.back(), &size);
    if (overflow || size > kMaxTensorSize || size < -kMaxTensorSize) {
      lexer_.fail_at(start, text_rules::kSize, fmt::format("shape [{}]", fmt::join(dims, ", ")));
    }
  });
  if (dims.empty()) lexer_.fail_at(start, text_rules::kLength, "a shape without dimensions");
  return dims;
}

InstructionId Parser::labelled_instruction() {
  lexer_.take();
  const Token label = lexer_.peek();
  const auto number = unsigned_integer(std::numeric_limits<std::uint32_t>::max(), "a label's number");
  if (labels_.contains(number)) {
    lexer_.fail_at(label, text_rules::kRedeclared, fmt::format("a second label %{}", number));
  }
  expect(":");
  const InstructionId id = instruction();
  labels_.emplace(number, id);
  return id;
}

InstructionId Parser::instruction() {
  const Token name = expect_name("an instruction");
  Instruction inst{};
  if (name.quoted || !parse_opcode(name.text, inst.opcode)) {
    Suggest nearest(name.name());
    for (const auto& row : all_instructions()) nearest.consider(row.name);
    lexer_.fail_at(name, text_rules::kInstruction, describe(name), "", did_you_mean(nearest.best()));
  }
  arguments(info(inst.opcode), inst);
  if (accept_word("name")) {
    expect("=");
    inst.name = static_cast<std::uint32_t>(program_.strings.size());
    program_.strings.push_back(expect_string("a name in quotes").value);
  }
  dependencies(inst);
  inst.loc = location(name.line);
  program_.instructions.push_back(inst);
  return static_cast<InstructionId>(program_.instructions.size() - 1);
}

void Parser::arguments(const InstructionInfo& row, Instruction& inst) {
  const auto defaults = default_args(inst.opcode);
  std::vector<Arg> args(defaults.begin(), defaults.end());
  std::vector<bool> given(row.params.size());
  list("(", ")", [&](std::size_t) {
    const Token name = expect_name("a parameter's name");
    const int p = row.find_param(name.name());
    if (p < 0) {
      Suggest nearest(name.name());
      for (const auto& param : row.params) nearest.consider(param.name);
      lexer_.fail_at(name, text_rules::kParameter, fmt::format("{} of {}", describe(name), row.name), signature(row),
                     did_you_mean(nearest.best()));
    }
    if (given[p]) lexer_.fail_at(name, text_rules::kRepeated, fmt::format("{} twice", describe(name)));
    given[p] = true;
    expect("=");
    args[p] = value(row.params[p]);
  });
  inst.first_arg = static_cast<std::uint32_t>(program_.args.size());
  program_.args.insert(program_.args.end(), args.begin(), args.end());
}

void Parser::dependencies(Instruction& inst) {
  inst.first_dep = static_cast<std::uint32_t>(program_.deps.size());
  if (!accept_word("after")) return;
  list("(", ")", [&](std::size_t) {
    expect("%");
    const Token label = lexer_.peek();
    const auto number = unsigned_integer(std::numeric_limits<std::uint32_t>::max(), "a label's number");
    const auto it = labels_.find(number);
    if (it == labels_.end()) lexer_.fail_at(label, text_rules::kLabel, fmt::format("%{}", number));
    program_.deps.push_back(it->second);
    ++inst.dep_count;
  });
}

LoopId Parser::loop(int depth) {
  check_depth(depth + 1);
  const Token word = lexer_.take();
  const auto id = static_cast<LoopId>(program_.loops.size());
  program_.loops.emplace_back();
  Loop loop;
  const Token name = lexer_.peek();
  if (word.text == "loop") {
    expect_name("a loop variable");
    loop.variable = name.name();
    if (variables_.contains(loop.variable)) {
      lexer_.fail_at(name, text_rules::kRedeclared, fmt::format("variable {} of an enclosing loop", describe(name)));
    }
    static_range(loop);
    variables_.emplace(loop.variable, id);
  } else {
    loop.kind = word.text == "for" ? Loop::Kind::dynamic_for : Loop::Kind::dynamic_while;
    loop.reg = register_id();
    loop.variable = name.name();
    if (loop.kind == Loop::Kind::dynamic_for) dynamic_range(loop);
    if (accept_word("usually")) loop.usual = integer();
  }
  loop.loc = location(word.line);
  expect("{");
  statements(loop.body, depth + 1);
  expect("}");
  if (loop.kind == Loop::Kind::static_for) variables_.erase(loop.variable);
  program_.loops[id] = std::move(loop);
  return id;
}

void Parser::static_range(Loop& loop) {
  expect("=");
  loop.lower.value = integer();
  expect("..");
  loop.upper.value = integer();
  if (accept_word("step")) loop.step = integer();
}

void Parser::dynamic_range(Loop& loop) {
  const auto bound = [&] {
    if (lexer_.peek().kind == Token::Kind::name) return Bound{true, register_id()};
    return Bound{false, integer()};
  };
  expect("=");
  loop.lower = bound();
  expect("..");
  loop.upper = bound();
  if (accept_word("step")) loop.step = integer();
}

// @ "file":line from "outer", "outermost"
LocId Parser::location(int line) {
  if (!accept("@")) {
    return options_.text_locations ? program_.add_loc({lexer_.file_name(), line, {}}) : 0;
  }
  SourceLoc loc;
  loc.file = expect_string("a file name in quotes").value;
  expect(":");
  loc.line = static_cast<int>(unsigned_integer(std::numeric_limits<int>::max(), "a line number"));
  if (accept_word("from")) {
    do {
      loc.stack.push_back(expect_string("a place in quotes").value);
    } while (accept(","));
  }
  loc.foreign = !may_show(loc.file);
  return program_.add_loc(loc);
}

// Whoever wrote the text may name any file of this machine: only those beside the text, or in folders that the caller
// named, are opened for a diagnostic or a page.
bool Parser::may_show(const std::string& file) {
  const auto [at, is_new] = shown_.try_emplace(file, false);
  if (is_new) {
    std::vector<std::string> roots = options_.source_roots;
    std::error_code failure;
    const std::filesystem::path text = lexer_.file_name();
    if (std::filesystem::is_regular_file(text, failure)) roots.push_back(text.parent_path().string());
    at->second = lies_below(file, roots);
  }
  return at->second;
}

}  // namespace kiln::isa
