#include <fmt/format.h>

#include <algorithm>

#include "kiln/base/suggest.h"
#include "kiln/isa/text/parser.h"

namespace kiln::isa {

TensorId Parser::tensor_id() {
  const Token name = expect_name("a tensor");
  const auto it = tensors_.find(std::string(name.name()));
  if (it != tensors_.end()) return it->second;
  Suggest nearest(name.name());
  for (const Tensor& t : program_.tensors) nearest.consider(t.name);
  lexer_.fail_at(name, text_rules::kTensor, describe(name), "", did_you_mean(nearest.best()));
}

DType Parser::dtype() {
  const Token word = expect_name("a dtype");
  DType t;
  if (parse_dtype(word.name(), t)) return t;
  Suggest nearest(word.name());
  for (const auto& d : kDTypes) nearest.consider(d.name);
  lexer_.fail_at(word, text_rules::kDtype, describe(word), "", did_you_mean(nearest.best()));
}

std::uint32_t Parser::pooled_access(int depth) {
  const Access a = access(depth);
  program_.accesses.push_back(a);
  return static_cast<std::uint32_t>(program_.accesses.size() - 1);
}

// name, or name.ap([start:count,] [[stride, count], …] [, option=value]…)
Access Parser::access(int depth) {
  check_depth(depth);
  const TensorId tensor = tensor_id();
  if (!accept(".")) return whole(program_, tensor);
  expect_word("ap");
  expect("(");
  Access a;
  a.tensor = tensor;
  a.dtype = program_.tensors[tensor].dtype;
  const bool on_chip = is_on_chip(program_.tensors[tensor].memory);
  if (on_chip == lexer_.peek().is("[")) {
    lexer_.fail(text_rules::kPartition,
                fmt::format("{} in a pattern on {}", describe(lexer_.peek()), name(program_.tensors[tensor].memory)));
  }
  if (on_chip) access_partition(a);
  access_dims(a, on_chip ? 1 : 0);
  std::vector<std::string> seen;
  while (accept(",")) access_option(a, seen, depth);
  expect(")");
  return a;
}

void Parser::access_partition(Access& a) {
  a.partition = affine();
  expect(":");
  a.dims[0] = {1, integer()};
  if (accept(":")) a.dims[0].stride = integer();
  expect(",");
}

void Parser::access_dims(Access& a, int first) {
  a.rank = static_cast<std::uint8_t>(first);
  list("[", "]", [&](std::size_t) {
    if (a.rank == kMaxRank) lexer_.fail(text_rules::kLength, "a ninth dimension");
    expect("[");
    const std::int64_t stride = integer();
    expect(",");
    a.dims[a.rank++] = {stride, integer()};
    expect("]");
  });
}

void Parser::access_option(Access& a, std::vector<std::string>& seen, int depth) {
  constexpr std::string_view kOptions[] = {"offset", "dtype", "scalar_offset", "vector_offset", "indirect", "scale"};
  const Token option = expect_name("an option of the pattern");
  const std::string word(option.name());
  if (std::find(seen.begin(), seen.end(), word) != seen.end()) {
    lexer_.fail_at(option, text_rules::kRepeated, fmt::format("{} twice", describe(option)));
  }
  seen.push_back(word);
  expect("=");
  if (word == "offset") {
    a.offset = affine();
  } else if (word == "dtype") {
    a.dtype = dtype();
  } else if (word == "scale" && a.dynamic != kNone) {
    program_.dynamics[a.dynamic].scale = integer();
  } else if (std::find(kOptions + 2, kOptions + 5, word) != kOptions + 5 && a.dynamic == kNone) {
    Dynamic d{};
    if (word == "scalar_offset") {
      d.source = scalar_source(d, depth);
    } else {
      d.kind = word == "indirect" ? Dynamic::Kind::indirect : Dynamic::Kind::vector;
      d.source = pooled_access(depth + 1);
    }
    a.dynamic = static_cast<std::uint32_t>(program_.dynamics.size());
    program_.dynamics.push_back(d);
  } else {
    const bool known = std::find(std::begin(kOptions), std::end(kOptions), word) != std::end(kOptions);
    lexer_.fail_at(
        option, text_rules::kParameter,
        known ? fmt::format("{} in this place", describe(option)) : fmt::format("{} of ap", describe(option)),
        "offset, dtype, and one of scalar_offset, vector_offset and indirect, then scale",
        did_you_mean(known ? "" : suggest(word, kOptions)));
  }
}

// A register, or a tile that holds one value.
std::uint32_t Parser::scalar_source(Dynamic& d, int depth) {
  const Token& t = lexer_.peek();
  if (t.kind == Token::Kind::name && registers_.contains(std::string(t.name()))) {
    d.kind = Dynamic::Kind::scalar_register;
    return register_id();
  }
  d.kind = Dynamic::Kind::scalar_tile;
  return pooled_access(depth + 1);
}

// [-] part { (+|-) part }
Affine Parser::affine() {
  Affine a;
  std::vector<Term> terms;
  bool negative = accept("-");
  do {
    affine_part(negative, a.constant, terms);
    negative = lexer_.peek().is("-");
  } while (accept("+") || accept("-"));
  a.first_term = static_cast<std::uint32_t>(program_.terms.size());
  a.term_count = static_cast<std::uint32_t>(terms.size());
  program_.terms.insert(program_.terms.end(), terms.begin(), terms.end());
  return a;
}

// An integer, a loop variable, or integer * loop variable.
void Parser::affine_part(bool negative, std::int64_t& constant, std::vector<Term>& terms) {
  const Token part = lexer_.peek();
  std::int64_t value = negative ? -1 : 1;
  if (part.kind == Token::Kind::integer) {
    value = with_sign(lexer_.take(), negative);
    if (!accept("*")) {
      if (!__builtin_add_overflow(constant, value, &constant)) return;
      lexer_.fail_at(part, text_rules::kNumber, "a sum that does not fit");
    }
  } else if (part.kind != Token::Kind::name) {
    unexpected("an integer or a loop variable");
  }
  const Token name = lexer_.peek();
  const LoopId loop = variable();
  if (terms.size() == kMaxTerms) lexer_.fail_at(name, text_rules::kLength, "a 65th term");
  terms.push_back({loop, value});
}

LoopId Parser::variable() {
  const Token name = expect_name("a loop variable");
  const auto it = variables_.find(std::string(name.name()));
  if (it != variables_.end()) return it->second;
  Suggest nearest(name.name());
  for (const auto& v : variables_) nearest.consider(v.first);
  lexer_.fail_at(name, text_rules::kVariable, describe(name), "", did_you_mean(nearest.best()));
}

}  // namespace kiln::isa
