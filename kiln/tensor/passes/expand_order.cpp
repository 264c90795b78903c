// Running values and sorts along the last axis, where they have instructions.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/lower/lines.h"
#include "kiln/tensor/passes/expand.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kExactFloat = 1 << 24;
constexpr std::int64_t kLongRow = 4096;         // of a running value on one partition
constexpr std::int64_t kLongTurnedRow = 10240;  // the same, of columns, which are stored whole

double neutral(OpCode code, DType t) {
  if (code == OpCode::cumsum) return 0;
  if (code == OpCode::cumprod) return 1;
  return code == OpCode::cummax ? lowest(t) : highest(t);
}

Expr combined(OpCode code, const Expr& x, const Expr& y) {
  switch (code) {
    case OpCode::cumsum:
      return add(x, y);
    case OpCode::cumprod:
      return multiply(x, y);
    case OpCode::cummax:
      return maximum(x, y);
    default:
      return minimum(x, y);
  }
}

Expr running(OpCode code, const Expr& x) {
  return {x.graph(), x.graph().add(code, {x.value()}, {static_cast<std::int64_t>(x.rank()) - 1})};
}

std::optional<Value> linear_recurrence(const Rewriting& r) {
  const Expr a = r.operand(0), b = r.operand(1), before = r.operand(2);
  const std::int64_t axis = r.op.integer("axis");
  const auto n = r.op.type.shape[static_cast<std::size_t>(axis)];
  if (n == 1) return cast(cast(a, DType::float32) * before + b, r.op.type.dtype).value();
  if (axis + 1 == r.op.type.rank()) return {};
  const auto turned = [&](const Expr& x) { return with_axis_last(x, axis); };
  return with_axis_back(linear_scan(turned(a), turned(b), turned(before), -1), axis).value();
}

// A view of x; of what a float is before it is widened, where it is.
Expr seen_before_cast(const Expr& x, const std::function<Expr(const Expr&)>& view) {
  const Op& op = x.graph().op(x.value());
  if (op.code != OpCode::cast || !is_float(x.dtype())) return view(x);
  const Expr narrow(x.graph(), op.operands[0]);
  const bool widens = is_float(narrow.dtype()) && size_bytes(narrow.dtype()) < size_bytes(x.dtype());
  return widens ? cast(view(narrow), x.dtype()) : view(x);
}

// A running value that is seen in another order before it is narrowed is narrowed first.
std::optional<Value> narrowed_before_views(const Rewriting& r) {
  const Expr x = r.operand(0);
  const DType to = r.op.type.dtype;
  if (!is_float(to) || !is_float(x.dtype()) || size_bytes(to) >= size_bytes(x.dtype())) return {};
  std::vector<Value> views;
  Value v = x.value();
  for (; is_view(r.to.op(v).code) && r.to.op(v).code != OpCode::broadcast_to; v = r.to.op(v).operands[0])
    views.push_back(v);
  const auto runs = [&](Value y) { return is_running(r.to.op(y).code); };
  const Op& made = r.to.op(v);
  const bool is_joined = is_elementwise(made.code) && !made.operands.empty() && runs(made.operands[0]);
  if (views.empty() || (!runs(v) && !is_joined)) return {};
  Value out = cast(Expr(r.to, v), to).value();
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    const Op op = r.to.op(*view);  // a copy: adding ops moves them
    out = r.to.add(op.code, {out}, op.attrs);
  }
  return out;
}

// Integers exactly: each round adds what stands twice as far before.
Expr doubled(OpCode code, const Expr& x) {
  Expr out = x;
  const std::int64_t n = x.shape().back();
  for (std::int64_t s = 1; s < n; s *= 2) {
    const Expr sums = combined(code, slice(out, -1, s, n), slice(out, -1, 0, n - s));
    out = concat({slice(out, -1, 0, s), sums}, -1);
  }
  return out;
}

// In blocks side by side: each by itself, then with what all blocks before it come to.
Expr in_blocks(OpCode code, const Expr& x, std::int64_t blocks) {
  const std::int64_t n = x.shape().back(), width = (n + blocks - 1) / blocks, rows = x.type().size() / n;
  const double none = neutral(code, x.dtype());
  const Expr parts = running(code, seen_before_cast(x, [&](const Expr& e) {
                               Expr flat = reshape(e, {rows, n});
                               if (blocks * width > n) flat = pad(flat, {0, 0}, {0, blocks * width - n}, none);
                               return reshape(flat, {rows, blocks, width});
                             }));
  const Expr totals = reshape(slice(parts, -1, width - 1, width), {rows, blocks});
  const Expr before = pad(slice(running(code, totals), -1, 0, blocks - 1), {0, 1}, {0, 0}, none);
  const Expr all = reshape(combined(code, parts, reshape(before, {rows, blocks, 1})), {rows, blocks * width});
  return reshape(slice(all, -1, 0, n), x.shape());
}

std::optional<Value> running_value(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t axis = r.op.integer("axis"), n = x.shape()[axis];
  const DType t = r.op.type.dtype;
  if (n <= 1) return cast(x, t).value();
  if (axis + 1 != x.rank()) {
    const std::int64_t inner = product(x.shape(), static_cast<std::size_t>(axis) + 1, x.shape().size());
    if (inner == 1)
      return reshape(running(r.op.code, reshape(x, Shape(x.shape().begin(), x.shape().begin() + axis + 1))), x.shape())
          .value();
    return with_axis_back(
               running(r.op.code, seen_before_cast(x, [&](const Expr& e) { return with_axis_last(e, axis); })), axis)
        .value();
  }
  const std::int64_t rows = x.type().size() / n;
  std::int64_t blocks = (n + kLongRow - 1) / kLongRow;
  if (rows < 64 && n >= 2048) blocks = std::max(blocks, std::max<std::int64_t>(2, 128 / rows));
  const Op& made = r.operand_op(0).code == OpCode::cast ? r.to.op(r.operand_op(0).operands[0]) : r.operand_op(0);
  const bool is_turned = made.code == OpCode::transpose;
  if (rows >= 64 && t == DType::float32 && (!is_turned || n <= kLongTurnedRow)) blocks = 1;  // piece after piece
  if (blocks > 1) return in_blocks(r.op.code, cast(x, t), blocks).value();
  if (is_float(x.dtype())) return {};
  const double largest = std::max(std::fabs(lowest(x.dtype())), highest(x.dtype()));
  const bool picks = r.op.code == OpCode::cummax || r.op.code == OpCode::cummin;
  const bool sums = r.op.code == OpCode::cumsum && largest * static_cast<double>(n) < static_cast<double>(kExactFloat);
  if (sums || (picks && largest < static_cast<double>(kExactFloat)))
    return cast(running(r.op.code, cast(x, DType::float32)), t).value();
  return doubled(r.op.code, cast(x, t)).value();
}

Expr order_of(const Expr& x) {
  return {x.graph(), x.graph().add(OpCode::argsort, {x.value()}, {static_cast<std::int64_t>(x.rank()) - 1, false})};
}
Expr along(const Expr& x, const Expr& order) {
  const std::int64_t last = static_cast<std::int64_t>(x.rank()) - 1;
  return {x.graph(), x.graph().add(OpCode::take_along_axis, {x.value(), cast(order, DType::uint32).value()}, {last})};
}

// By the low half, then by the high half, which keeps the order of what is equal.
Expr order_of_halves(const Expr& x, bool descending) {
  Expr bits = x.dtype() == DType::int32 ? bitwise_xor(bitcast(x, DType::uint32), std::int64_t{0x80000000}) : x;
  if (descending) bits = bitwise_xor(bits, std::int64_t{0xffffffff});
  const Expr low = order_of(cast(bitwise_and(bits, 0xffff), DType::float32));
  const Expr high = order_of(along(cast(right_shift(bits, 16), DType::float32), low));
  return along(low, high);
}

std::optional<Value> sorted_order(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t axis = r.op.integer("axis"), n = x.shape()[axis];
  const bool descending = r.op.flag("descending");
  if (n == 1) return r.to.constant(r.op.type, {0});
  if (axis + 1 != x.rank()) {
    const Expr line = with_axis_last(x, axis);
    const Expr order(r.to,
                     r.to.add(OpCode::argsort, {line.value()}, {static_cast<std::int64_t>(x.rank()) - 1, descending}));
    return with_axis_back(order, axis).value();
  }
  if (!is_sort_key(x.dtype())) return order_of_halves(x, descending).value();
  if (x.dtype() != DType::float32 || descending) {
    const Expr key = cast(x, DType::float32);
    return order_of(descending ? key * -1.0 : key).value();
  }
  if (n <= kLongestSort) return {};
  return order_of_blocks(x).value();
}

bool has_order_of(const Graph& g, const Op& sort) {
  return std::ranges::any_of(g.ops(), [&](const Op& op) {
    return op.code == OpCode::argsort && op.operands == sort.operands && op.attrs == sort.attrs;
  });
}

// Values by themselves are minima and maxima; where their order is asked for as well, they are taken by it.
std::optional<Value> sorted_values(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t axis = r.op.integer("axis"), n = x.shape()[axis];
  const bool descending = r.op.flag("descending");
  const DType t = x.dtype();
  const auto by_order = [&] {
    const Expr order(r.to, r.to.add(OpCode::argsort, {x.value()}, r.op.attrs));
    return r.to.add(OpCode::take_along_axis, {x.value(), order.value()}, {axis});
  };
  const bool is_wide = is_integer(t) && size_bytes(t) == 4;
  if (n <= 1 || !(is_sort_key(t) || is_wide) || has_order_of(r.from, r.op)) return by_order();
  if (axis + 1 != x.rank()) return with_axis_back(sort(with_axis_last(x, axis), -1, descending), axis).value();
  const bool is_key = t == DType::float32 || t == DType::bfloat16 || t == DType::float16;
  if (is_wide && descending) return invert(sort(invert(x), -1)).value();
  if (!is_key && !is_wide) return cast(sort(cast(x, DType::float32), -1, descending), t).value();
  if (descending) return (sort(x * -1.0, -1) * -1.0).value();
  if (const auto cut = sorted_in_columns(x)) return cut->value();
  if (n > kLongestSortedLine) return by_order();
  return {};
}

}  // namespace

std::optional<Value> expanded_order(const Rewriting& r) {
  if (r.op.code == OpCode::linear_scan) return linear_recurrence(r);
  if (is_running(r.op.code)) return running_value(r);
  if (r.op.code == OpCode::cast) return narrowed_before_views(r);
  switch (r.op.code) {
    case OpCode::argsort:
      return sorted_order(r);
    case OpCode::sort:
      return sorted_values(r);
    case OpCode::top_k:
    case OpCode::top_k_indices:
      return expanded_top(r);
    default:
      return {};
  }
}

}  // namespace kiln::tensor
