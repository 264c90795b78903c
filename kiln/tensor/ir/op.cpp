#include "kiln/tensor/ir/op.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/base/error.h"

namespace kiln::tensor {
namespace {

Lowering lowered_alu(AluOp op) { return {.kind = Lowering::Kind::alu, .alu = op}; }
Lowering lowered_act(ActFn fn) { return {.kind = Lowering::Kind::act, .act = fn}; }

constexpr std::string_view kKindWords[] = {"ints", "int", "real", "bool", "dtype", "text"};  // in AttrKind's order

AttrKind kind_of(std::string_view word) {
  const auto* found = std::ranges::find(kKindWords, word);
  KILN_ASSERT(found != std::end(kKindWords));
  return static_cast<AttrKind>(found - std::begin(kKindWords));
}

// "axes:ints keepdims:bool".
std::vector<AttrInfo> attributes_of(std::string_view text) {
  std::vector<AttrInfo> out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(' '));
    const std::size_t colon = item.find(':');
    out.push_back({item.substr(0, colon), kind_of(item.substr(colon + 1))});
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return out;
}

std::vector<OpInfo> make_table() {
#define alu(op) lowered_alu(AluOp::op)
#define act(fn) lowered_act(ActFn::fn)
#define made(how) \
  Lowering { .kind = Lowering::Kind::made }
#define KILN_UNARY(name, result, floats, integers, lowering, meaning) {#name, 1, Result::result, lowering, {}, meaning},
#define KILN_BINARY(name, result, floats, integers, lowering, meaning) \
  {#name, 2, Result::result, lowering, {}, meaning},
#define KILN_OP(name, operands, attributes, infer, evaluate, meaning) \
  {#name, operands, Result::none, {}, attributes_of(attributes), meaning},
  return {
#include "kiln/tensor/ir/ops.def"
  };
#undef alu
#undef act
#undef made
}

const std::vector<OpInfo>& table() {
  static const std::vector<OpInfo> rows = make_table();
  return rows;
}

}  // namespace

const OpInfo& info(OpCode code) { return table()[static_cast<std::size_t>(code)]; }

std::string to_string(const OpInfo& op) {
  constexpr std::string_view kOperands[] = {"x", "y", "z", "w"};
  std::vector<std::string> parts;
  if (op.operands < 0) parts.emplace_back("...");
  for (int i = 0; i < op.operands; ++i) parts.emplace_back(kOperands[i]);
  for (const AttrInfo& a : op.attributes)
    parts.push_back(fmt::format("{}={}", a.name, kKindWords[static_cast<std::size_t>(a.kind)]));
  return fmt::format("{}({})", op.name, fmt::join(parts, ", "));
}

bool parse_op(std::string_view text, OpCode& out) {
  for (std::size_t i = 0; i < table().size(); ++i) {
    if (table()[i].name != text) continue;
    out = static_cast<OpCode>(i);
    return true;
  }
  return false;
}

std::vector<OpCode> all_ops() {
  std::vector<OpCode> out;
  for (std::size_t i = 0; i < table().size(); ++i) out.push_back(static_cast<OpCode>(i));
  return out;
}

}  // namespace kiln::tensor
