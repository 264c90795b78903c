#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "kiln/base/suggest.h"
#include "kiln/isa/text/lexer.h"
#include "kiln/isa/text/parse.h"
#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/ir/weak.h"

namespace kiln::tensor {
namespace {

using isa::Token;

class Parser {
 public:
  Parser(std::string_view text, std::string file_name)
      : text_(text), lexer_(text, file_name), file_(std::move(file_name)) {}
  Graph parse();

 private:
  // What stands somewhere in the text.
  struct Spot {
    std::string_view text;
    int line = 1;
  };
  Spot next() const { return {lexer_.peek().text, lexer_.peek().line}; }
  isa::Token take() {
    last_ = next();
    return lexer_.take();
  }
  int column_of(const Spot& spot) const {
    if (spot.text.empty()) return 0;
    const auto at = static_cast<std::size_t>(spot.text.data() - text_.data());
    return static_cast<int>(at - (text_.rfind('\n', at) + 1)) + 1;
  }
  [[noreturn]] void fail_at(const Spot& spot, std::string found, std::string allowed = {},
                            std::string help = {}) const {
    constexpr std::size_t kMost = 300;  // of a name that is longer nobody reads the rest
    if (found.size() > kMost) found = found.substr(0, kMost) + "...";
    const int column = column_of(spot);
    Diagnostic d = broken(rules::kTable, rules::kText,
                          {.found = std::move(found),
                           .allowed = std::move(allowed),
                           .help = std::move(help),
                           .loc = {.file = file_, .line = spot.line},
                           .column = column});
    if (column > 0) d.width = static_cast<int>(spot.text.substr(0, spot.text.find('\n')).size());
    throw Error(std::move(d));
  }
  // At what comes next, which is not taken yet.
  [[noreturn]] void fail(const std::string& found, std::string allowed = {}, std::string help = {}) const {
    fail_at(next(), found, std::move(allowed), std::move(help));
  }
  // A name that is none of these.
  template <class Names>
  [[noreturn]] void fail_unknown(const Spot& spot, const std::string& found, std::string_view word, const Names& names,
                                 std::string allowed) const {
    const std::string_view best = suggest(word, names);
    fail_at(spot, found, std::move(allowed), best.empty() ? std::string() : fmt::format("did you mean `{}`?", best));
  }
  std::string found_next() const {
    return lexer_.peek().kind == Token::Kind::end ? "the end of the text" : fmt::format("`{}`", lexer_.peek().text);
  }
  bool accept(std::string_view punctuation) {
    if (!lexer_.peek().is(punctuation)) return false;
    take();
    return true;
  }
  void expect(std::string_view punctuation) {
    if (!accept(punctuation)) fail(fmt::format("{} where `{}` is due", found_next(), punctuation));
  }
  std::string word() {
    if (lexer_.peek().kind != Token::Kind::name) fail(found_next() + " where a name is due");
    return std::string(take().name());
  }
  void expect_word(std::string_view text) {
    if (!lexer_.peek().is_word(text)) fail(fmt::format("{} where `{}` is due", found_next(), text));
    take();
  }
  std::string text() {
    if (lexer_.peek().kind != Token::Kind::string) fail("a quoted text is due");
    return take().value;
  }
  bool at_number() const {
    const Token& t = lexer_.peek();
    return t.kind == Token::Kind::integer || t.kind == Token::Kind::real || t.is("-") || t.is_word("inf") ||
           t.is_word("nan");
  }
  std::int64_t integer();
  double real(bool* is_real = nullptr);
  Ints ints();
  Type type();
  DType dtype();
  AttrValue attribute(AttrKind kind);
  Value value(const std::string& name, const Spot& spot) const;
  [[noreturn]] void fail_attribute(const Spot& spot, const std::string& op_name, const std::string& found,
                                   const std::vector<AttrInfo>& infos) const;
  void statement();
  Value call(const Type* given);
  std::shared_ptr<const isa::Program> kernel_text();
  void accept_place();
  Body body();
  Value make(const Spot& at, OpCode code, std::vector<Scalar> scalars, std::vector<Value> operands, Attrs attrs,
             const Type* given, std::vector<double> numbers);

  std::string_view text_;
  isa::Lexer lexer_;
  Spot last_;  // what was taken last
  std::string file_;
  Graph graph_;
  std::map<std::string, Value, std::less<>> names_;
  int depth_ = 0;  // of bodies
};

std::int64_t Parser::integer() {
  const bool negative = accept("-");
  if (lexer_.peek().kind != Token::Kind::integer) fail("an integer is due");
  const auto magnitude = static_cast<std::int64_t>(take().magnitude);
  return negative ? -magnitude : magnitude;
}

double Parser::real(bool* is_real) {
  const bool negative = accept("-");
  const Token t = take();
  double x = 0;
  if (is_real) *is_real = t.kind != Token::Kind::integer;
  if (t.kind == Token::Kind::integer)
    x = static_cast<double>(t.magnitude);
  else if (t.kind == Token::Kind::real)
    x = t.real;
  else if (t.is_word("inf"))
    x = std::numeric_limits<double>::infinity();
  else if (t.is_word("nan"))
    x = std::numeric_limits<double>::quiet_NaN();
  else
    fail_at(last_, fmt::format("`{}` where a number is due", t.text));
  return negative ? -x : x;
}

Ints Parser::ints() {
  Ints out;
  expect("[");
  while (!accept("]")) {
    out.push_back(integer());
    if (!lexer_.peek().is("]")) expect(",");
  }
  return out;
}

DType Parser::dtype() {
  const std::string text = word();
  DType t;
  if (!parse_dtype(text, t)) {
    std::vector<std::string_view> names;
    for (const DTypeInfo& row : kDTypes) {
      if (row.cls != DTypeClass::packed) names.push_back(row.name);
    }
    const std::string allowed = fmt::format("{}; the chip has no others", fmt::join(names, ", "));
    fail_unknown(last_, fmt::format("`{}` is no dtype", text), text, names, allowed);
  }
  return t;
}

Type Parser::type() {
  const DType t = dtype();
  return {t, ints()};
}

AttrValue Parser::attribute(AttrKind kind) {
  switch (kind) {
    case AttrKind::ints:
      return ints();
    case AttrKind::integer:
      return integer();
    case AttrKind::real:
      return real();
    case AttrKind::dtype:
      return dtype();
    case AttrKind::text:
      return text();
    case AttrKind::boolean:
      break;
  }
  const std::string said = word();
  if (said != "true" && said != "false") fail_at(last_, fmt::format("`{}` where true or false is due", said));
  return said == "true";
}

Value Parser::value(const std::string& name, const Spot& spot) const {
  const auto it = names_.find(name);
  if (it == names_.end()) {
    std::vector<std::string_view> names;
    for (const auto& known : names_) names.push_back(known.first);
    fail_unknown(spot, fmt::format("`{}` is no value yet", name), name, names, "a value of a line above");
  }
  return it->second;
}

Value Parser::make(const Spot& at, OpCode code, std::vector<Scalar> scalars, std::vector<Value> operands, Attrs attrs,
                   const Type* given, std::vector<double> numbers) {
  if (code == OpCode::input || code == OpCode::constant || code == OpCode::iota) {
    if (!given) fail_at(at, fmt::format("{} needs a type: name: dtype[shape] = ...", name(code)));
    if (code == OpCode::input) return graph_.input(std::get<std::string>(attrs.at(0)), *given);
    if (code == OpCode::iota) return graph_.iota(*given, std::get<std::int64_t>(attrs.at(0)));
    return graph_.constant(*given, std::move(numbers));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != kScalar) continue;
    Value beside = kScalar;
    for (Value v : operands) {
      if (v != kScalar) beside = v;
    }
    if (beside == kScalar) fail_at(at, "an op of numbers alone", "a tensor beside the numbers", "make one a constant");
    operands[i] = weak(graph_, scalars[i], graph_.type(beside).dtype);
  }
  return graph_.add(code, std::move(operands), std::move(attrs));
}

void Parser::fail_attribute(const Spot& spot, const std::string& op_name, const std::string& found,
                            const std::vector<AttrInfo>& infos) const {
  std::vector<std::string_view> names;
  for (const AttrInfo& info : infos) names.push_back(info.name);
  fail_unknown(spot, fmt::format("{} has no attribute `{}`", op_name, found), found, names,
               names.empty() ? "no attributes" : fmt::format("{}", fmt::join(names, ", ")));
}

Value Parser::call(const Type* given) {
  const std::string op_name = word();
  const Spot op_spot = last_;
  OpCode code;
  if (!parse_op(op_name, code)) {
    std::vector<std::string_view> names;
    for (const OpCode other : all_ops()) names.push_back(name(other));
    fail_unknown(op_spot, fmt::format("`{}` is no op", op_name), op_name, names,
                 "the ops that `kiln opt --ops` lists; softmax and norms are written with these");
  }
  const auto& infos = info(code).attributes;
  std::vector<std::optional<AttrValue>> found(infos.size());
  std::vector<Value> operands;
  std::vector<Scalar> scalars;
  std::vector<double> numbers;
  std::shared_ptr<const isa::Program> kernel;
  expect("(");
  while (!accept(")")) {
    if (at_number()) {
      bool is_real = false;
      const double x = real(&is_real);
      operands.push_back(kScalar);
      scalars.push_back({x, is_real});
    } else {
      const std::string first = word();
      const Spot first_spot = last_;
      if (!accept("=")) {
        operands.push_back(value(first, first_spot));
        scalars.push_back({});
      } else if (code == OpCode::kernel && first == "program") {
        kernel = kernel_text();
      } else if (code == OpCode::constant && first == "numbers") {
        expect("[");
        while (!accept("]")) {
          numbers.push_back(real());
          if (!lexer_.peek().is("]")) expect(",");
        }
      } else {
        std::size_t i = 0;
        while (i < infos.size() && infos[i].name != first) ++i;
        if (i == infos.size()) fail_attribute(first_spot, op_name, first, infos);
        if (found[i]) fail_at(first_spot, fmt::format("the attribute `{}` twice", first), "each attribute once");
        found[i] = attribute(infos[i].kind);
      }
    }
    if (!lexer_.peek().is(")")) expect(",");
  }
  Attrs attrs;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (!found[i])
      fail_at(op_spot, fmt::format("{} needs the attribute `{}`", op_name, infos[i].name), to_string(info(code)));
    attrs.push_back(*found[i]);
  }
  accept_place();
  if (kernel) return graph_.kernel(std::move(kernel), std::move(operands));
  std::vector<Body> bodies;
  while (accept("{")) bodies.push_back(body());
  if (!bodies.empty()) return graph_.add(code, std::move(operands), std::move(attrs), std::move(bodies));
  return make(op_spot, code, std::move(scalars), std::move(operands), std::move(attrs), given, std::move(numbers));
}

// A program of instructions, a quoted line for each of its own; places in it are those of the lines that are quoted.
std::shared_ptr<const isa::Program> Parser::kernel_text() {
  const std::string name = "the program of a kernel";
  std::string lines;
  std::vector<int> line_of;
  expect("[");
  while (!accept("]")) {
    const std::string said = text() + "\n";
    line_of.insert(line_of.end(), static_cast<std::size_t>(std::ranges::count(said, '\n')), last_.line);
    lines += said;
    if (!lexer_.peek().is("]")) expect(",");
  }
  const auto place = [&](SourceLoc& loc) {
    if (loc.file != name || line_of.empty()) return;
    loc.line = line_of[static_cast<std::size_t>(std::clamp(loc.line, 1, static_cast<int>(line_of.size())) - 1)];
    loc.file = file_;
  };
  try {
    isa::Program program = isa::parse(lines, name);
    for (SourceLoc& loc : program.locs) place(loc);
    return std::make_shared<const isa::Program>(std::move(program));
  } catch (const Error& e) {
    std::vector<Diagnostic> diagnostics = e.diagnostics();
    for (Diagnostic& d : diagnostics) {
      place(d.loc);
      d.column = d.width = 0;
      d.source = d.mark = "";
    }
    throw Error(std::move(diagnostics));
  }
}

// The place of whoever wrote the program; this text is nearer.
void Parser::accept_place() {
  if (!accept("@")) return;
  text();
  expect(":");
  integer();
}

// Statements up to the closing brace, with names of their own.
Body Parser::body() {
  constexpr int kDeepest = 64;
  if (++depth_ > kDeepest) fail("bodies in bodies, too deep");
  Graph outer = std::exchange(graph_, Graph("body"));
  auto names = std::exchange(names_, {});
  while (!accept("}")) {
    if (lexer_.peek().kind == Token::Kind::end) fail("a body without its }");
    statement();
  }
  names_ = std::move(names);
  --depth_;
  return std::make_shared<const Graph>(std::exchange(graph_, std::move(outer)));
}

void Parser::statement() {
  const int line = lexer_.peek().line;
  graph_.at(SourceLoc{.file = file_, .line = line});
  if (lexer_.peek().is_word("output")) {
    take();
    std::string output_name = text();
    expect("=");
    const std::string made = word();
    graph_.output(std::move(output_name), value(made, last_));
    return;
  }
  const std::string name = word();
  const Spot spot = last_;
  if (names_.contains(name)) fail_at(spot, fmt::format("`{}` is a value already", name), "another name");
  std::optional<Type> given;
  if (accept(":")) given = type();
  expect("=");
  const Value v = call(given ? &*given : nullptr);
  if (given && !(*given == graph_.type(v)))
    fail_at(spot, fmt::format("`{}` is {}, not {}", name, to_string(graph_.type(v)), to_string(*given)));
  names_[name] = v;
}

Graph Parser::parse() {
  expect_word("kt");
  if (integer() != 1) fail_at(last_, "another version of the text form", "kt 1");
  expect_word("program");
  graph_.name = text();
  while (lexer_.peek().kind != Token::Kind::end) statement();
  return std::move(graph_);
}

}  // namespace

Graph parse(std::string_view text, const std::string& file_name) { return Parser(text, file_name).parse(); }

}  // namespace kiln::tensor
