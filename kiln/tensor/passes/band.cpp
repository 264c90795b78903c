#include "kiln/tensor/passes/band.h"

#include <cmath>

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

// n where the condition is low <= high + n, for the index along one axis and that along the other.
std::optional<std::int64_t> difference_of(const Graph& graph, Value cond, int low_axis) {
  const Op& op = graph.op(cond);
  const bool below = op.code == OpCode::less || op.code == OpCode::less_equal;
  if (!below && op.code != OpCode::greater && op.code != OpCode::greater_equal) return {};
  const auto rank = static_cast<std::size_t>(op.type.rank());
  const auto a = ramp_of(graph, op.operands[0], rank), b = ramp_of(graph, op.operands[1], rank);
  if (!a || !b) return {};
  const Ramp &low = below ? *a : *b, &high = below ? *b : *a;  // low <= high
  if (low.axis_from_last != low_axis || high.axis_from_last != 1 - low_axis) return {};
  const bool strict = op.code == OpCode::less || op.code == OpCode::greater;
  return static_cast<std::int64_t>(high.plus - low.plus) - (strict ? 1 : 0);
}

// |row - column + n| <= limit.
std::optional<KeyWindow> around(const Graph& graph, const Op& op) {
  const bool below = op.code == OpCode::less || op.code == OpCode::less_equal;
  if (!below && op.code != OpCode::greater && op.code != OpCode::greater_equal) return {};
  const Op& far = graph.op(op.operands[below ? 0 : 1]);
  const auto limit = splat_of(graph, op.operands[below ? 1 : 0]);
  if (!limit || far.code != OpCode::abs) return {};
  const Op& apart = graph.op(far.operands[0]);
  const DType t = apart.type.dtype;
  if (apart.code != OpCode::subtract || !(is_float(t) || t == DType::int32 || t == DType::int16)) return {};
  const auto rank = static_cast<std::size_t>(op.type.rank());
  const auto a = ramp_of(graph, apart.operands[0], rank), b = ramp_of(graph, apart.operands[1], rank);
  if (!a || !b || a->axis_from_last + b->axis_from_last != 1) return {};
  const Ramp &row = a->axis_from_last == 1 ? *a : *b, &column = a->axis_from_last == 1 ? *b : *a;
  const bool strict = op.code == OpCode::less || op.code == OpCode::greater;
  const auto most = static_cast<std::int64_t>(strict ? std::ceil(*limit) - 1 : std::floor(*limit));
  const auto plus = static_cast<std::int64_t>(row.plus - column.plus);
  return KeyWindow{most + plus, most - plus};
}

}  // namespace

std::optional<std::int64_t> band_of(const Graph& graph, Value cond) { return difference_of(graph, cond, 0); }

std::optional<std::int64_t> floor_of(const Graph& graph, Value cond) { return difference_of(graph, cond, 1); }

KeyWindow window_of(const Graph& graph, Value cond) {
  const Op& op = graph.op(cond);
  if (op.code == OpCode::logical_and || (op.code == OpCode::bitwise_and && op.type.dtype == DType::bool_)) {
    const KeyWindow a = window_of(graph, op.operands[0]), b = window_of(graph, op.operands[1]);
    const bool known = (a.ahead || a.back) && (b.ahead || b.back);
    const bool twice = (a.ahead && b.ahead) || (a.back && b.back);
    if (!known || twice) return {};
    return {a.ahead ? a.ahead : b.ahead, a.back ? a.back : b.back};
  }
  if (const auto both = around(graph, op)) return *both;
  return {band_of(graph, cond), floor_of(graph, cond)};
}

}  // namespace kiln::tensor
