#include "kiln/tensor/passes/masks.h"

#include <algorithm>
#include <cmath>

#include "kiln/tensor/passes/band.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kFewest = 16;        // elements: smaller constants are as good as a comparison
constexpr std::int64_t kCounted = 1 << 23;  // rows and columns that float32 counts

// The window of columns in which the elements of a constant are `seen`, `hidden` elsewhere, in all of its matrices: up
// to row + ahead, and from row - back on where there is such an end.
std::optional<KeyWindow> window_in(const Op& op, double seen, double hidden) {
  const Shape& shape = op.type.shape;
  const std::int64_t columns = shape.back(), rows = shape[shape.size() - 2];
  const std::vector<double>& x = *op.numbers;
  KeyWindow w;
  for (std::int64_t row = 0; row < rows && !(w.ahead && w.back); ++row) {
    const double* line = x.data() + row * columns;
    const std::int64_t first = std::find(line, line + columns, seen) - line;
    std::int64_t end = first;
    while (end < columns && line[end] == seen) ++end;
    if (first == end) continue;
    if (end < columns && !w.ahead) w.ahead = end - 1 - row;
    if (first > 0 && !w.back) w.back = row - first;
  }
  if (!w.ahead) return {};
  const auto all_are = [](const double* from, const double* to, double what) {
    return std::all_of(from, to, [&](double y) { return y == what; });
  };
  for (std::int64_t line = 0; line < op.type.size() / columns; ++line) {
    const std::int64_t row = line % rows;
    const std::int64_t end = std::clamp<std::int64_t>(row + *w.ahead + 1, 0, columns);
    const std::int64_t first = w.back ? std::clamp<std::int64_t>(row - *w.back, 0, end) : 0;
    const double* at = x.data() + line * columns;
    if (!all_are(at, at + first, hidden) || !all_are(at + first, at + end, seen) ||
        !all_are(at + end, at + columns, hidden))
      return {};
  }
  return w;
}

bool is_matrix(const Op& op) {
  if (op.code != OpCode::constant || op.type.rank() < 2 || op.type.size() < kFewest) return false;
  const Shape& shape = op.type.shape;
  return static_cast<std::int64_t>(op.numbers->size()) == op.type.size() && shape.back() < kCounted &&
         shape[shape.size() - 2] < kCounted;
}

// A window as comparisons, for a shape.
Value seen_in(Graph& graph, const Shape& shape, const KeyWindow& w, bool opposite) {
  const Type ramp{DType::float32, shape};
  const auto rank = static_cast<std::int64_t>(shape.size());
  const Expr columns(graph, graph.iota(ramp, rank - 1)), rows(graph, graph.iota(ramp, rank - 2));
  const auto plus = [](const Expr& x, std::int64_t n) { return n == 0 ? x : x + static_cast<double>(n); };
  const Expr end = plus(rows, *w.ahead);
  if (!w.back) return (opposite ? columns > end : columns <= end).value();
  const Value both =
      graph.add(OpCode::logical_and, {(columns <= end).value(), (rows <= plus(columns, *w.back)).value()});
  return opposite ? graph.add(OpCode::logical_not, {both}) : both;
}

}  // namespace

bool is_shifted(const Graph& graph, const std::vector<Value>& users) {
  const auto is = [&](std::size_t i, OpCode code) { return graph.op(users[i]).code == code; };
  if (users.size() != 2) return false;
  return (is(0, OpCode::max) && is(1, OpCode::subtract)) || (is(1, OpCode::max) && is(0, OpCode::subtract));
}

std::optional<Value> banded_constant(const Rewriting& r) {
  if (!is_matrix(r.op) || r.op.type.dtype != DType::bool_) return {};
  if (const auto n = window_in(r.op, 1, 0)) return seen_in(r.to, r.op.type.shape, *n, false);
  if (const auto n = window_in(r.op, 0, 1)) return seen_in(r.to, r.op.type.shape, *n, true);
  return {};
}

std::optional<Value> turned_choice(const Rewriting& r) {
  if (r.op.code != OpCode::where || !is_float(r.op.type.dtype) || !splat_of(r.to, r.operands[1])) return {};
  const Op condition = r.operand_op(0);  // a copy: adding ops moves them
  if (condition.code == OpCode::logical_not && !splat_of(r.to, r.operands[2])) {
    const KeyWindow window = window_of(r.to, condition.operands[0]);
    if (window.ahead && window.back)
      return r.to.add(OpCode::where, {condition.operands[0], r.operands[2], r.operands[1]});
  }
  if (condition.code != OpCode::greater || splat_of(r.to, r.operands[2])) return {};
  const Value opposite = r.to.add(OpCode::less_equal, condition.operands);
  if (!band_of(r.to, opposite)) return {};
  return r.to.add(OpCode::where, {opposite, r.operands[2], r.operands[1]});
}

std::optional<Value> banded_sum(const Rewriting& r, const std::vector<std::vector<Value>>& users,
                                const std::vector<int>& uses) {
  if (r.op.code != OpCode::add || !is_float(r.op.type.dtype)) return {};
  const auto self = static_cast<Value>(&r.op - r.from.ops().data());
  for (std::size_t i : {0, 1}) {
    const Op& mask = r.operand_op(i);
    if (!is_matrix(mask) || !(r.to.type(r.operands[1 - i]) == r.op.type)) continue;
    if (uses[self] != 2 || !is_shifted(r.from, users[self])) continue;
    const auto hidden = std::ranges::find_if(*mask.numbers, [](double y) { return y != 0; });
    if (hidden == mask.numbers->end() || !(*hidden <= kHiddenFill)) continue;
    const double fill = *hidden;  // all others are too, or this is no window
    const auto window = window_in(mask, 0, fill);
    const Shape shape = mask.type.shape;
    if (!window || *window->ahead < 0 || shape.back() != r.op.type.shape.back()) continue;
    const Value condition = seen_in(r.to, shape, *window, false);
    return r.to.add(OpCode::where, {condition, r.operands[1 - i], r.to.constant({r.op.type.dtype, {}}, {fill})});
  }
  return {};
}

}  // namespace kiln::tensor
