#include "kiln/tensor/passes/band.h"

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

// v is the index along an axis, counted from the last, plus a number.
struct Ramp {
  int axis_from_last = 0;
  double plus = 0;
};
std::optional<Ramp> ramp_of(const Graph& graph, Value v, std::size_t rank) {
  const Op& op = graph.op(v);
  if (op.code == OpCode::iota) {
    const auto own = static_cast<int>(op.type.rank());
    if (op.type.rank() > static_cast<int>(rank)) return {};
    return Ramp{own - 1 - static_cast<int>(op.integer("axis")), 0};
  }
  if (op.code == OpCode::cast) return ramp_of(graph, op.operands[0], rank);
  if (op.code != OpCode::add && op.code != OpCode::subtract) return {};
  const auto number = splat_of(graph, op.operands[1]);
  auto ramp = number ? ramp_of(graph, op.operands[0], rank) : std::nullopt;
  if (ramp) ramp->plus += op.code == OpCode::add ? *number : -*number;
  return ramp;
}

}  // namespace

std::optional<std::int64_t> band_of(const Graph& graph, Value cond) {
  const Op& op = graph.op(cond);
  const bool below = op.code == OpCode::less || op.code == OpCode::less_equal;
  if (!below && op.code != OpCode::greater && op.code != OpCode::greater_equal) return {};
  const auto rank = static_cast<std::size_t>(op.type.rank());
  const auto a = ramp_of(graph, op.operands[0], rank), b = ramp_of(graph, op.operands[1], rank);
  if (!a || !b) return {};
  const Ramp &low = below ? *a : *b, &high = below ? *b : *a;  // low <= high
  if (low.axis_from_last != 0 || high.axis_from_last != 1) return {};
  const bool strict = op.code == OpCode::less || op.code == OpCode::greater;
  return static_cast<std::int64_t>(high.plus - low.plus) - (strict ? 1 : 0);
}

}  // namespace kiln::tensor
