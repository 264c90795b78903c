#include <fmt/format.h>
#include <fmt/ranges.h>

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
  Parser(std::string_view text, std::string file_name) : lexer_(text, file_name), file_(std::move(file_name)) {}
  Graph parse();

 private:
  [[noreturn]] void fail(const std::string& found, std::string allowed = {}, std::string help = {}) {
    raise(rules::kTable, rules::kText,
          {.found = found,
           .allowed = std::move(allowed),
           .help = std::move(help),
           .loc = {.file = file_, .line = lexer_.peek().line}});
  }
  // A name that is none of these.
  template <class Names>
  [[noreturn]] void fail_unknown(const std::string& found, std::string_view word, const Names& names,
                                 std::string allowed) {
    const std::string_view best = suggest(word, names);
    fail(found, std::move(allowed), best.empty() ? std::string() : fmt::format("did you mean `{}`?", best));
  }
  bool accept(std::string_view punctuation) {
    if (!lexer_.peek().is(punctuation)) return false;
    lexer_.take();
    return true;
  }
  void expect(std::string_view punctuation) {
    if (!accept(punctuation)) fail(fmt::format("`{}` where `{}` is due", lexer_.peek().text, punctuation));
  }
  std::string word() {
    if (lexer_.peek().kind != Token::Kind::name) fail(fmt::format("`{}` where a name is due", lexer_.peek().text));
    return std::string(lexer_.take().name());
  }
  void expect_word(std::string_view text) {
    if (!lexer_.peek().is_word(text)) fail(fmt::format("`{}` where `{}` is due", lexer_.peek().text, text));
    lexer_.take();
  }
  std::string text() {
    if (lexer_.peek().kind != Token::Kind::string) fail("a quoted text is due");
    return lexer_.take().value;
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
  Value value(const std::string& name);
  [[noreturn]] void fail_attribute(const std::string& op_name, const std::string& found,
                                   const std::vector<AttrInfo>& infos);
  void statement();
  Value call(const Type* given);
  void accept_place();
  Body body();
  Value make(OpCode code, std::vector<Scalar> scalars, std::vector<Value> operands, Attrs attrs, const Type* given,
             std::vector<double> numbers);

  isa::Lexer lexer_;
  std::string file_;
  Graph graph_;
  std::map<std::string, Value, std::less<>> names_;
  int depth_ = 0;  // of bodies
};

std::int64_t Parser::integer() {
  const bool negative = accept("-");
  if (lexer_.peek().kind != Token::Kind::integer) fail("an integer is due");
  const auto magnitude = static_cast<std::int64_t>(lexer_.take().magnitude);
  return negative ? -magnitude : magnitude;
}

double Parser::real(bool* is_real) {
  const bool negative = accept("-");
  const Token t = lexer_.take();
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
    fail(fmt::format("`{}` where a number is due", t.text));
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
    fail_unknown(fmt::format("`{}` is no dtype", text), text, names, allowed);
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
  if (said != "true" && said != "false") fail(fmt::format("`{}` where true or false is due", said));
  return said == "true";
}

Value Parser::value(const std::string& name) {
  const auto it = names_.find(name);
  if (it == names_.end()) {
    std::vector<std::string_view> names;
    for (const auto& known : names_) names.push_back(known.first);
    fail_unknown(fmt::format("`{}` is no value yet", name), name, names, "a value of a line above");
  }
  return it->second;
}

Value Parser::make(OpCode code, std::vector<Scalar> scalars, std::vector<Value> operands, Attrs attrs,
                   const Type* given, std::vector<double> numbers) {
  if (code == OpCode::input || code == OpCode::constant || code == OpCode::iota) {
    if (!given) fail(fmt::format("{} needs a type: name: dtype[shape] = ...", name(code)));
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
    if (beside == kScalar) fail("an op of numbers alone");
    operands[i] = weak(graph_, scalars[i], graph_.type(beside).dtype);
  }
  return graph_.add(code, std::move(operands), std::move(attrs));
}

void Parser::fail_attribute(const std::string& op_name, const std::string& found, const std::vector<AttrInfo>& infos) {
  std::vector<std::string_view> names;
  for (const AttrInfo& info : infos) names.push_back(info.name);
  fail_unknown(fmt::format("{} has no attribute `{}`", op_name, found), found, names,
               names.empty() ? "no attributes" : fmt::format("{}", fmt::join(names, ", ")));
}

Value Parser::call(const Type* given) {
  const std::string op_name = word();
  OpCode code;
  if (!parse_op(op_name, code)) {
    std::vector<std::string_view> names;
    for (const OpCode other : all_ops()) names.push_back(name(other));
    fail_unknown(fmt::format("`{}` is no op", op_name), op_name, names,
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
      if (!accept("=")) {
        operands.push_back(value(first));
        scalars.push_back({});
      } else if (code == OpCode::kernel && first == "program") {
        expect("[");
        std::string lines;
        while (!accept("]")) {
          lines += text() + "\n";
          if (!lexer_.peek().is("]")) expect(",");
        }
        kernel = std::make_shared<const isa::Program>(isa::parse(lines, file_));
      } else if (code == OpCode::constant && first == "numbers") {
        expect("[");
        while (!accept("]")) {
          numbers.push_back(real());
          if (!lexer_.peek().is("]")) expect(",");
        }
      } else {
        std::size_t i = 0;
        while (i < infos.size() && infos[i].name != first) ++i;
        if (i == infos.size()) fail_attribute(op_name, first, infos);
        found[i] = attribute(infos[i].kind);
      }
    }
    if (!lexer_.peek().is(")")) expect(",");
  }
  Attrs attrs;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (!found[i]) fail(fmt::format("{} needs the attribute `{}`", op_name, infos[i].name), to_string(info(code)));
    attrs.push_back(*found[i]);
  }
  accept_place();
  if (kernel) return graph_.kernel(std::move(kernel), std::move(operands));
  std::vector<Body> bodies;
  while (accept("{")) bodies.push_back(body());
  if (!bodies.empty()) return graph_.add(code, std::move(operands), std::move(attrs), std::move(bodies));
  return make(code, std::move(scalars), std::move(operands), std::move(attrs), given, std::move(numbers));
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
    lexer_.take();
    std::string output_name = text();
    expect("=");
    graph_.output(std::move(output_name), value(word()));
    return;
  }
  const std::string name = word();
  if (names_.contains(name)) fail(fmt::format("`{}` is a value already", name));
  std::optional<Type> given;
  if (accept(":")) given = type();
  expect("=");
  const Value v = call(given ? &*given : nullptr);
  if (given && !(*given == graph_.type(v)))
    fail(fmt::format("`{}` is {}, not {}", name, to_string(graph_.type(v)), to_string(*given)));
  names_[name] = v;
}

Graph Parser::parse() {
  expect_word("kt");
  if (integer() != 1) fail("another version of the text form");
  expect_word("program");
  graph_.name = text();
  while (lexer_.peek().kind != Token::Kind::end) statement();
  return std::move(graph_);
}

}  // namespace

Graph parse(std::string_view text, const std::string& file_name) { return Parser(text, file_name).parse(); }

}  // namespace kiln::tensor
