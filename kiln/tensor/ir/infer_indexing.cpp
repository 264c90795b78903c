// Types of what reads and writes by index.
#include <algorithm>
#include <array>

#include "kiln/tensor/ir/infer_op.h"

namespace kiln::tensor {
namespace {

void require_index(const Ask& a, std::size_t i) {
  a.require(is_integer(a.operand(i).dtype), rules::kIndex, to_string(a.operand(i)));
}

template <std::size_t N>
void require_mode(const Ask& a, const std::array<std::string_view, N>& modes) {
  const std::string& mode = a.op.text("mode");
  a.require(std::find(modes.begin(), modes.end(), mode) != modes.end(), rules::kOperands,
            fmt::format("mode `{}`; there are {}", mode, fmt::join(modes, ", ")));
}

constexpr std::array<std::string_view, 5> kWrites{"set", "add", "multiply", "maximum", "minimum"};

// The shape that operands from the i-th on broadcast to.
Shape broadcast_indices(const Ask& a, std::size_t first) {
  Shape shape;
  for (std::size_t i = first; i < a.op.operands.size(); ++i) {
    require_index(a, i);
    const auto both = broadcast(shape, a.operand(i).shape);
    a.require(both.has_value(), rules::kBroadcast,
              fmt::format("{} and {}", to_string(shape), to_string(a.operand(i).shape)));
    shape = *both;
  }
  const std::size_t count = a.op.operands.size() - first;
  a.require(count >= 1 && count <= a.operand(0).shape.size(), rules::kIndex,
            fmt::format("{} indices into {}", count, to_string(a.operand(0))));
  return shape;
}

Shape picked(const Ask& a, std::size_t first) {
  Shape shape = broadcast_indices(a, first);
  const Shape& x = a.operand(0).shape;
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(a.op.operands.size() - first), x.end());
  return shape;
}

}  // namespace

Type infer_take(const Ask& a) {
  require_index(a, 1);
  require_mode(a, std::array<std::string_view, 3>{"raise", "wrap", "clip"});
  const std::int64_t axis = asked_axis(a);
  const Type &x = a.operand(0), &index = a.operand(1);
  Type out{x.dtype, {x.shape.begin(), x.shape.begin() + axis}};
  out.shape.insert(out.shape.end(), index.shape.begin(), index.shape.end());
  out.shape.insert(out.shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  return out;
}

Type infer_take_along(const Ask& a) {
  require_index(a, 1);
  const std::int64_t axis = asked_axis(a);
  const Type &x = a.operand(0), &index = a.operand(1);
  bool ok = x.rank() == index.rank();
  for (int d = 0; ok && d < x.rank(); ++d) ok = d == axis || x.shape[d] == index.shape[d];
  a.require(ok, rules::kIndex, fmt::format("indices {} into {}", to_string(index), to_string(x)));
  return {x.dtype, index.shape};
}

Type infer_put_along(const Ask& a) {
  infer_take_along(a);
  require_mode(a, kWrites);
  a.require(
      a.operand(2).shape == a.operand(1).shape && a.operand(2).dtype == a.operand(0).dtype, rules::kIndex,
      fmt::format("{} at indices {} of {}", to_string(a.operand(2)), to_string(a.operand(1)), to_string(a.operand(0))));
  return a.operand(0);
}

Type infer_scatter_at(const Ask& a) {
  require_index(a, 1);
  require_mode(a, kWrites);
  const std::int64_t axis = asked_axis(a);
  Type wanted = a.operand(0);
  a.require(a.operand(1).rank() == 1, rules::kIndex, fmt::format("indices {}", to_string(a.operand(1))));
  wanted.shape[axis] = a.operand(1).shape[0];
  a.require(a.operand(2) == wanted, rules::kIndex,
            fmt::format("{} where {} is due", to_string(a.operand(2)), to_string(wanted)));
  return a.operand(0);
}

Type infer_gather_nd(const Ask& a) {
  a.require(a.op.operands.size() >= 2, rules::kOperands, "no indices");
  return {a.operand(0).dtype, picked(a, 1)};
}

Type infer_scatter_nd(const Ask& a) {
  a.require(a.op.operands.size() >= 3, rules::kOperands, "no indices");
  require_mode(a, kWrites);
  const Type wanted{a.operand(0).dtype, picked(a, 2)};
  a.require(a.operand(1) == wanted, rules::kIndex,
            fmt::format("{} where {} is due", to_string(a.operand(1)), to_string(wanted)));
  return a.operand(0);
}

Type infer_compress(const Ask& a) {
  const std::int64_t axis = asked_axis(a), count = a.op.integer("count");
  Type out = a.operand(0);
  const Type mask{DType::bool_, {out.shape[axis]}};
  a.require(a.operand(1) == mask, rules::kIndex,
            fmt::format("{} where {} is due", to_string(a.operand(1)), to_string(mask)));
  a.require(count >= 0 && count <= out.shape[axis], rules::kSlice, fmt::format("{} of {}", count, to_string(out)));
  out.shape[axis] = count;
  return out;
}

Type infer_nonzero(const Ask& a) {
  const std::int64_t count = a.op.integer("count");
  a.require(count >= 0 && count <= a.operand(0).size(), rules::kSlice,
            fmt::format("{} of {}", count, to_string(a.operand(0))));
  return {DType::int32, {count}};
}

Type infer_one_hot(const Ask& a) {
  require_index(a, 0);
  a.require(a.op.integer("depth") >= 0, rules::kShape, fmt::format("depth {}", a.op.integer("depth")));
  Type out{std::get<DType>(a.op.attr("dtype")), a.operand(0).shape};
  out.shape.push_back(a.op.integer("depth"));
  return out;
}

Type infer_searchsorted(const Ask& a) {
  const Type &x = a.operand(0), &values = a.operand(1);
  a.require(x.rank() == 1, rules::kIndex, fmt::format("a sorted {}", to_string(x)));
  a.require(promote(x.dtype, values.dtype).has_value(), rules::kPromotion,
            fmt::format("{} and {}", name(x.dtype), name(values.dtype)));
  return {DType::int32, values.shape};
}

Type infer_bincount(const Ask& a) {
  const std::size_t n = a.op.operands.size();
  a.require(n == 1 || n == 2, rules::kOperands, fmt::format("{} operands", n));
  require_index(a, 0);
  a.require(a.operand(0).rank() == 1 && a.op.integer("length") >= 0, rules::kIndex,
            fmt::format("{} counted up to {}", to_string(a.operand(0)), a.op.integer("length")));
  a.require(n == 1 || a.operand(1).shape == a.operand(0).shape, rules::kIndex,
            fmt::format("weights {} of {}", to_string(a.operand(n - 1)), to_string(a.operand(0))));
  const DType t = n == 1 ? DType::int32 : is_float(a.operand(1).dtype) ? a.operand(1).dtype : DType::float32;
  return {t, {a.op.integer("length")}};
}

}  // namespace kiln::tensor
