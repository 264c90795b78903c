// Quantised numbers as shifts of exponents: exact on every chip. A power of two is made from its bits.
#include "kiln/tensor/ir/mx.h"
#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kNan = 0x7fc00000, kSmallest = 0x00400000;  // bits of NaN and of 2^-127
constexpr int kMantissa = 23, kNone = 255;                         // of float32; the scale of NaN

Expr integer(Graph& g, std::int64_t x) { return {g, g.constant({DType::int32, {}}, {static_cast<double>(x)})}; }

Expr shifted(const Expr& exponent) { return left_shift(exponent, integer(exponent.graph(), kMantissa)); }

// (..., groups, 32) of what has the axis last.
Expr in_groups(Expr x) {
  const std::int64_t n = x.shape().back(), rest = (kMxGroup - n % kMxGroup) % kMxGroup;
  if (rest > 0) {
    Ints low(x.shape().size(), 0), high = low;
    high.back() = rest;
    x = pad(x, low, high);
  }
  Shape groups = x.shape();
  groups.back() = x.shape().back() / kMxGroup;
  groups.push_back(kMxGroup);
  return reshape(x, groups);
}

// The first n elements of groups that stand one after the other.
Expr out_of_groups(const Expr& x, std::int64_t n) {
  Shape flat = x.shape();
  flat.pop_back();
  flat.back() *= kMxGroup;
  const Expr all = reshape(x, flat);
  return flat.back() == n ? all : slice(all, -1, 0, n);
}

// Exponents of groups as bytes, (..., groups, 1) of int32.
Expr scales_of(const Expr& groups, DType element) {
  const Expr largest = max(abs(cast(groups, DType::float32)), {{-1}, true});
  const Expr exponent = right_shift(bitcast(largest, DType::int32), integer(groups.graph(), kMantissa));
  const Expr scale = maximum(exponent - integer(groups.graph(), mx_exponent(element)), integer(groups.graph(), 0));
  return where(equal(exponent, integer(groups.graph(), kNone)), integer(groups.graph(), kNone), scale);
}

// 2^(127 - scale)
Expr inverse_of(const Expr& scale) {
  Graph& g = scale.graph();
  const Expr bits = shifted(integer(g, 254) - minimum(scale, integer(g, 254)));
  return bitcast(where(equal(scale, integer(g, kNone)), integer(g, kNan), bits), DType::float32);
}

// 2^(scale - 127)
Expr power_of(const Expr& scale) {
  Graph& g = scale.graph();
  const Expr bits = where(equal(scale, integer(g, 0)), integer(g, kSmallest), shifted(scale));
  return bitcast(where(equal(scale, integer(g, kNone)), integer(g, kNan), bits), DType::float32);
}

Expr quantised(const Expr& groups, const Expr& scale, DType element) {
  return cast(cast(groups, DType::float32) * inverse_of(scale), element);
}

// Rounded to float8_e4m3fn on a chip that has none: to four bits, ties to even, and below 2^-6 to multiples of 2^-9. x
// is smaller than 2^8.
Expr rounded_in_float32(const Expr& x) {
  constexpr int kDropped = kMantissa - 3;
  Graph& g = x.graph();
  const Expr bits = bitcast(x, DType::int32);
  const Expr odd = bitwise_and(right_shift(bits, integer(g, kDropped)), integer(g, 1));
  const Expr up = bits + (odd + integer(g, (1 << (kDropped - 1)) - 1));
  const Expr large = bitcast(bitwise_and(up, integer(g, -(1 << kDropped))), DType::float32);
  const double magic = 1.5 * (1 << (kMantissa - 9));
  return where(abs(x) >= 1.0 / 64, large, (x + magic) - magic);
}

// What quantising leaves of x, in bfloat16, which holds it exactly.
Expr rounded(const Expr& x, std::int64_t axis, DType element, bool has_element) {
  const Expr last = with_axis_last(x, axis), groups = in_groups(last);
  const Expr scale = scales_of(groups, element);
  const Expr scaled = has_element ? cast(quantised(groups, scale, element), DType::float32)
                                  : rounded_in_float32(cast(groups, DType::float32) * inverse_of(scale));
  const Expr back = scaled * power_of(scale);
  return with_axis_back(cast(out_of_groups(back, last.shape().back()), DType::bfloat16), axis);
}

}  // namespace

Expr mx_product(const Expr& x, const Expr& y, DType element, bool has_element) {
  const Expr a = rounded(x, static_cast<std::int64_t>(x.rank()) - 1, element, has_element);
  const Expr b = rounded(y, 0, element, has_element);
  return {x.graph(), x.graph().add(OpCode::matmul_f32, {a.value(), b.value()})};
}

std::optional<Value> expanded_mx(const Rewriting& r) {
  const bool makes = r.op.code == OpCode::mx_quantize || r.op.code == OpCode::mx_scales;
  if (!makes && r.op.code != OpCode::mx_dequantize) return {};
  if (r.op.type.size() == 0) return r.to.constant(r.op.type, {0});
  const DType dtype = std::get<DType>(r.op.attr("dtype"));
  const std::int64_t axis = r.op.integer("axis"), n = r.to.type(r.operands[0]).shape[axis];
  const Expr groups = in_groups(with_axis_last(r.operand(0), axis));
  if (!makes) {
    const Expr scales = cast(with_axis_last(r.operand(1), axis), DType::int32);
    Shape column = scales.shape();
    column.push_back(1);
    const Expr out = cast(groups, DType::float32) * power_of(reshape(scales, column));
    return with_axis_back(cast(out_of_groups(out, n), dtype), axis).value();
  }
  const Expr scale = scales_of(groups, dtype);
  if (r.op.code == OpCode::mx_quantize)
    return with_axis_back(out_of_groups(quantised(groups, scale, dtype), n), axis).value();
  Shape columns = scale.shape();
  columns.pop_back();
  return with_axis_back(cast(reshape(scale, columns), DType::uint8), axis).value();
}

}  // namespace kiln::tensor
