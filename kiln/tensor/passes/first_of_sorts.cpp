#include "kiln/tensor/passes/first_of_sorts.h"

#include <algorithm>
#include <limits>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/lower/lines.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

bool is_sort(OpCode code) { return code == OpCode::sort || code == OpCode::argsort; }

// What a slice reads of the lines of a sort: so many from the beginning, or from the end.
struct SortedPart {
  std::int64_t count;
  bool end;
};

std::optional<SortedPart> part_of(const Graph& graph, const Op& op) {
  if (op.code != OpCode::slice || op.type.size() == 0) return {};
  const Op& sort = graph.op(op.operands[0]);
  if (!is_sort(sort.code)) return {};
  const std::int64_t axis = sort.integer("axis"), n = sort.type.shape[axis];
  const std::int64_t first = op.ints("starts")[axis];
  const std::int64_t last = first + (op.ints("sizes")[axis] - 1) * op.ints("steps")[axis];
  const SortedPart head{std::max(first, last) + 1, false}, tail{n - std::min(first, last), true};
  if (head.count < n && finds_few(n, head.count)) return head;
  // Behind numbers that go down there are NaN, which is not what a search for the smallest begins with.
  if (tail.count < n && finds_few(n, tail.count) && !sort.flag("descending")) return tail;
  return {};
}

// Where the last of ascending numbers are, and of equal ones the last; NaN stands behind infinity, and a quarter of
// each number leaves room for both.
Expr last_places(const Expr& x, std::int64_t count, std::int64_t axis) {
  Expr key = x;
  if (is_float(x.dtype())) {
    key = cast(x, DType::float32);
    key = where(not_equal(key, key), 3e38, clip(key * 0.25, -2e38, 2e38));
  }
  const Expr from_end = top_k_indices(flip(key, {axis}), count, axis, true);
  return flip(x.shape()[axis] - 1 - from_end, {axis});
}

// The last of ascending numbers. As many of them are NaN as there are.
Expr last_values(const Expr& x, std::int64_t count, std::int64_t axis) {
  if (!is_float(x.dtype())) return flip(top_k(x, count, axis, true), {axis});
  const Expr is_nan = not_equal(x, x);
  const Expr found = top_k(where(is_nan, std::numeric_limits<double>::infinity(), x), count, axis, true);
  const Expr nans = sum(cast(is_nan, DType::float32), {{axis}, true});
  Type places = found.type();
  places.dtype = DType::float32;
  const Expr place(x.graph(), x.graph().iota(places, axis));
  return flip(where(place < nans, std::numeric_limits<double>::quiet_NaN(), found), {axis});
}

Expr found_part(const Expr& x, const Op& sort, const SortedPart& part) {
  const std::int64_t axis = sort.integer("axis");
  const bool values = sort.code == OpCode::sort, down = sort.flag("descending");
  if (part.end) return values ? last_values(x, part.count, axis) : last_places(x, part.count, axis);
  return values ? top_k(x, part.count, axis, down) : top_k_indices(x, part.count, axis, down);
}

}  // namespace

Graph first_of_sorts(const Graph& graph) {
  const std::vector<int> uses = graph.uses();
  std::vector<int> parts(graph.size());  // how often a part alone of a sort is read
  for (Value v = 0; v < graph.size(); ++v) {
    if (part_of(graph, graph.op(v))) ++parts[graph.op(v).operands[0]];
  }
  if (std::none_of(parts.begin(), parts.end(), [](int n) { return n > 0; })) return graph;
  return without_dead_ops(rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    const auto part = part_of(r.from, r.op);
    if (!part || parts[r.op.operands[0]] != uses[r.op.operands[0]]) return {};
    const Op sort = r.operand_op(0);  // a copy: adding ops moves them
    const std::int64_t axis = sort.integer("axis");
    const Expr found = found_part({r.to, sort.operands[0]}, sort, *part);
    Ints starts = r.op.ints("starts");
    if (part->end) starts[axis] -= sort.type.shape[axis] - part->count;
    return r.to.add(OpCode::slice, {found.value()}, {starts, r.op.ints("sizes"), r.op.ints("steps")});
  }));
}

}  // namespace kiln::tensor
