#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kiln/base/suggest.h"
#include "kiln/isa/text/parser.h"
#include "kiln/isa/text/text_words.h"

namespace kiln::isa {
namespace {

// An empty list of numbers is no value, as in the builder.
template <class T>
Arg list_arg(Arg::Kind kind, std::vector<T>& pool, const std::vector<T>& items) {
  Arg a;
  if (items.empty() && kind != Arg::Kind::accesses) return a;
  a.kind = kind;
  a.count = static_cast<std::uint32_t>(items.size());
  a.index = static_cast<std::uint32_t>(pool.size());
  pool.insert(pool.end(), items.begin(), items.end());
  return a;
}

}  // namespace

Arg Parser::value(const ParamInfo& param) {
  // Some enumerations have a member `none`, which is not the absence of a value.
  const auto members = param.is_tile() ? std::span<const std::string_view>{} : enum_members(param.type);
  const bool member = std::find(members.begin(), members.end(), "none") != members.end();
  if (!member && accept_word("none")) return {};
  return param.is_tile() ? tile(param) : attribute(param);
}

Arg Parser::tile(const ParamInfo& param) {
  const Token& t = lexer_.peek();
  const bool scalar = param.kind == ParamKind::scalar_or_in || param.kind == ParamKind::opt_scalar_or_in;
  if (param.is_list()) {
    if (!t.is("[")) wrong_value(param, "a list of tiles");
    return access_list();
  }
  if (scalar && at_number()) return number(param);
  if (t.kind != Token::Kind::name || (!t.quoted && is_reserved(t.text))) {
    wrong_value(param, scalar ? "a number or a tile" : "a tile");
  }
  Arg a;
  a.kind = Arg::Kind::access;
  a.index = pooled_access(0);
  return a;
}

Arg Parser::attribute(const ParamInfo& param) {
  const Token& t = lexer_.peek();
  if (!enum_members(param.type).empty()) return enumerator(param);
  switch (param.type) {
    case AttrType::Bool:
    case AttrType::OptBool: {
      if (!t.is_word("true") && !t.is_word("false")) wrong_value(param, "true or false");
      Arg a;
      a.kind = Arg::Kind::boolean;
      a.integer = lexer_.take().text == "true";
      return a;
    }
    case AttrType::Float:
    case AttrType::Number:
      return number(param);
    case AttrType::Ints:
    case AttrType::Floats:
    case AttrType::Pattern:
    case AttrType::Groups:
      if (!t.is("[")) wrong_value(param, "a list");
      return list_value(param.type);
    case AttrType::Reg:
      if (t.kind != Token::Kind::name) wrong_value(param, "a register");
      return register_arg();
    case AttrType::IntOrReg:
      if (t.kind == Token::Kind::name) return register_arg();
      if (t.kind != Token::Kind::integer && !t.is("-")) wrong_value(param, "an integer or a register");
      return integer_arg();
    default:
      if (t.kind != Token::Kind::integer && !t.is("-")) wrong_value(param, "an integer");
      return integer_arg();
  }
}

Arg Parser::enumerator(const ParamInfo& param) {
  const auto members = enum_members(param.type);
  const Token t = lexer_.peek();
  if (t.kind != Token::Kind::name) wrong_value(param, fmt::format("{}", fmt::join(members, ", ")));
  lexer_.take();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] != t.name()) continue;
    Arg a;
    a.kind = Arg::Kind::enumerator;
    a.integer = static_cast<std::int64_t>(i);
    return a;
  }
  lexer_.fail_at(t, text_rules::kMember, fmt::format("{} for {}", describe(t), param.name),
                 fmt::format("{}", fmt::join(members, ", ")), did_you_mean(suggest(t.name(), members)));
}

bool Parser::at_number() const {
  const Token& t = lexer_.peek();
  return t.kind == Token::Kind::integer || t.kind == Token::Kind::real || t.is("-") || t.is_word("inf") ||
         t.is_word("nan");
}

// Integers stay integers, except where the parameter is a real.
Arg Parser::number(const ParamInfo& param) {
  if (!at_number()) wrong_value(param, "a number");
  const bool negative = accept("-");
  const Token& t = lexer_.peek();
  Arg a;
  const bool wants_real = !param.is_tile() && param.type == AttrType::Float;
  if (t.kind == Token::Kind::integer && !wants_real) {
    a.kind = Arg::Kind::integer;
    a.integer = with_sign(lexer_.take(), negative);
    return a;
  }
  a.kind = Arg::Kind::real;
  a.real = real();
  if (negative) a.real = -a.real;
  return a;
}

// Without its sign.
double Parser::real() {
  const Token t = lexer_.peek();
  if (t.is_word("inf") || t.is_word("nan")) {
    lexer_.take();
    return t.text == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (t.kind != Token::Kind::integer && t.kind != Token::Kind::real) unexpected("a number");
  lexer_.take();
  return t.kind == Token::Kind::real ? t.real : static_cast<double>(t.magnitude);
}

std::int64_t Parser::integer() {
  const bool negative = accept("-");
  if (lexer_.peek().kind != Token::Kind::integer) unexpected("an integer");
  return with_sign(lexer_.take(), negative);
}

// -2^63 has no positive counterpart.
std::int64_t Parser::with_sign(const Token& t, bool negative) const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!negative && t.magnitude > kMost) lexer_.fail_at(t, text_rules::kNumber, describe(t));
  return static_cast<std::int64_t>(negative ? 0 - t.magnitude : t.magnitude);
}

Arg Parser::integer_arg() {
  Arg a;
  a.kind = Arg::Kind::integer;
  a.integer = integer();
  return a;
}

RegisterId Parser::register_id() {
  const Token name = expect_name("a register");
  const auto it = registers_.find(std::string(name.name()));
  if (it != registers_.end()) return it->second;
  Suggest nearest(name.name());
  for (const Register& r : program_.registers) nearest.consider(r.name);
  lexer_.fail_at(name, text_rules::kRegister, describe(name), "", did_you_mean(nearest.best()));
}

Arg Parser::register_arg() {
  Arg a;
  a.kind = Arg::Kind::reg;
  a.index = register_id();
  return a;
}

Arg Parser::list_value(AttrType type) {
  switch (type) {
    case AttrType::Ints:
      return integer_list();
    case AttrType::Floats:
      return real_list();
    case AttrType::Groups:
      return groups();
    default:
      return pattern();
  }
}

Arg Parser::access_list() {
  std::vector<Access> items;
  list("[", "]", [&](std::size_t) { items.push_back(access(0)); });
  return list_arg(Arg::Kind::accesses, program_.accesses, items);
}

Arg Parser::integer_list() {
  std::vector<std::int64_t> items;
  list("[", "]", [&](std::size_t) { items.push_back(integer()); });
  return list_arg(Arg::Kind::integers, program_.integers, items);
}

Arg Parser::real_list() {
  std::vector<double> items;
  list("[", "]", [&](std::size_t) {
    const bool negative = accept("-");
    const double magnitude = real();
    items.push_back(negative ? -magnitude : magnitude);
  });
  return list_arg(Arg::Kind::reals, program_.reals, items);
}

// [[0, 1], [2, 3]], each list kept after its length
Arg Parser::groups() {
  std::vector<std::int64_t> items;
  list("[", "]", [&](std::size_t) {
    const std::size_t length = items.size();
    items.push_back(0);
    list("[", "]", [&](std::size_t) { items.push_back(integer()); });
    items[length] = static_cast<std::int64_t>(items.size() - length - 1);
  });
  return list_arg(Arg::Kind::integers, program_.integers, items);
}

// [[step, num], …], kept as pairs one after the other
Arg Parser::pattern() {
  std::vector<std::int64_t> items;
  list("[", "]", [&](std::size_t) {
    expect("[");
    items.push_back(integer());
    expect(",");
    items.push_back(integer());
    expect("]");
  });
  return list_arg(Arg::Kind::integers, program_.integers, items);
}

}  // namespace kiln::isa
