// The oracle of running values, sorts and the largest few.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/tensor/ir/evaluate_op.h"

namespace kiln::tensor {
namespace {

double combined(OpCode code, DType t, double so_far, double x) {
  if (code == OpCode::cummax) return std::isnan(so_far) || so_far >= x ? so_far : x;
  if (code == OpCode::cummin) return std::isnan(so_far) || so_far <= x ? so_far : x;
  if (is_float(t)) return so_far * x;
  return wrapped(t, static_cast<std::int64_t>(so_far) * static_cast<std::int64_t>(x));
}

// Calls fn(line, order) with the places of the elements of each line along an axis, and its order.
template <class Fn>
void for_each_order(const Array& x, std::int64_t axis, bool descending, Fn&& fn) {
  const Shape& shape = x.type.shape;
  const std::int64_t n = shape[axis], inner = product(shape, static_cast<std::size_t>(axis) + 1, shape.size());
  const std::int64_t outer = product(shape, 0, static_cast<std::size_t>(axis));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t first = o * n * inner + i;
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const double p = x.data[first + a * inner], q = x.data[first + b * inner];
        if (std::isnan(p) || std::isnan(q)) return !std::isnan(p) && std::isnan(q);
        return descending ? p > q : p < q;
      });
      fn(o, i, first, order);
    }
  }
}

// The first `count` of each line, as values or as indices.
Array ordered(const Eval& e, bool descending, bool values) {
  Array out = e.make();
  const std::int64_t axis = e.op.integer("axis"), count = e.op.type.shape[axis];
  const Shape& shape = e.in[0]->type.shape;
  const std::int64_t inner = product(shape, static_cast<std::size_t>(axis) + 1, shape.size());
  for_each_order(*e.in[0], axis, descending,
                 [&](std::int64_t o, std::int64_t i, std::int64_t first, const std::vector<std::int64_t>& order) {
                   for (std::int64_t j = 0; j < count; ++j)
                     out.data[(o * count + j) * inner + i] =
                         values ? e.in[0]->data[first + order[j] * inner] : static_cast<double>(order[j]);
                 });
  return out;
}

}  // namespace

Array eval_running(const Eval& e) {
  Array out = e.make();
  const std::int64_t axis = e.op.integer("axis"), stride = strides_of(e.op.type.shape)[axis];
  for_each(e.op.type.shape, [&](std::int64_t i, const Shape& at) {
    const double x = e.in[0]->data[i];
    out.data[i] = at[axis] == 0 ? x : combined(e.op.code, e.op.type.dtype, out.data[i - stride], x);
  });
  return out;
}

Array eval_linear_scan(const Eval& e) {
  Array out = e.make();
  const Shape& shape = e.op.type.shape;
  const std::int64_t axis = e.op.integer("axis"), inner = strides_of(shape)[static_cast<std::size_t>(axis)];
  for_each(shape, [&](std::int64_t i, const Shape& at) {
    const std::int64_t line = i / (inner * shape[static_cast<std::size_t>(axis)]) * inner + i % inner;
    const double before = at[axis] == 0 ? e.in[2]->data[line] : out.data[i - inner];
    out.data[i] = e.in[0]->data[i] * before + e.in[1]->data[i];
  });
  return out;
}

Array eval_sorted(const Eval& e) { return ordered(e, e.op.flag("descending"), true); }
Array eval_dealt(const Eval& e) {
  Array out = e.make();
  const std::int64_t parts = e.op.integer("parts"), n = e.op.type.shape.back(), each = n / parts;
  for (std::int64_t i = 0; i < e.op.type.size(); ++i) {
    const std::int64_t line = i / n * n, at = i % n;
    out.data[i] = e.in[0]->data[line + at % each * parts + at / each];
  }
  return out;
}

Array eval_order(const Eval& e) { return ordered(e, e.op.flag("descending"), false); }
Array eval_top(const Eval& e) { return ordered(e, e.op.flag("largest"), true); }
Array eval_top_order(const Eval& e) { return ordered(e, e.op.flag("largest"), false); }

}  // namespace kiln::tensor
