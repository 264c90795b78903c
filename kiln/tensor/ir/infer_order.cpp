// Types of running values, sorts and the largest few.
#include "kiln/tensor/ir/infer_op.h"

namespace kiln::tensor {

// Products widen as sums do; what is picked out keeps its dtype.
Type infer_running(const Ask& a) {
  asked_axis(a);
  Type out = a.operand(0);
  if (a.op.code != OpCode::cumprod || is_float(out.dtype)) return out;
  out.dtype = info(out.dtype).cls == DTypeClass::unsigned_int ? DType::uint32 : DType::int32;
  return out;
}

// Floats of one shape; what stands before the first has one element of the axis and the dtype of the result.
Type infer_linear_scan(const Ask& a) {
  const std::int64_t axis = asked_axis(a);
  const Type &x = a.operand(0), &y = a.operand(1), &before = a.operand(2);
  Shape one = x.shape;
  one[static_cast<std::size_t>(axis)] = 1;
  const std::string found = fmt::format("{}, {} and {}", to_string(x), to_string(y), to_string(before));
  a.require(is_float(x.dtype) && is_float(y.dtype) && is_float(before.dtype), rules::kDtype, found);
  a.require(y.shape == x.shape && before.shape == one, rules::kOperands, found);
  return {before.dtype, x.shape};
}

Type infer_sorted(const Ask& a) {
  asked_axis(a);
  return a.operand(0);
}

Type infer_dealt(const Ask& a) {
  const Type& x = a.operand(0);
  const std::int64_t parts = a.op.integer("parts"), n = x.shape.empty() ? 0 : x.shape.back();
  a.require(!x.shape.empty() && parts > 0 && n % parts == 0, rules::kReshape,
            fmt::format("{} dealt out to {}", to_string(x), parts));
  return x;
}

Type infer_order(const Ask& a) {
  asked_axis(a);
  return {DType::int32, a.operand(0).shape};
}

Type infer_top(const Ask& a) {
  const std::int64_t axis = asked_axis(a), k = a.op.integer("k");
  Type out = a.operand(0);
  a.require(k >= 0 && k <= out.shape[axis], rules::kSlice, fmt::format("the first {} of {}", k, to_string(out)));
  out.shape[axis] = k;
  return out;
}

Type infer_top_order(const Ask& a) { return {DType::int32, infer_top(a).shape}; }

}  // namespace kiln::tensor
