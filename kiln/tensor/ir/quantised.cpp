// Types and values of quantised numbers and their products.
#include <cmath>
#include <limits>

#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/infer_op.h"
#include "kiln/tensor/ir/mx.h"

namespace kiln::tensor {
namespace {

bool is_narrow(DType t) { return is_float(t) && size_bytes(t) <= 2; }

void require_mx(const Ask& a, DType element) {
  a.require(element == DType::float8_e4m3fn || element == DType::float8_e5m2, rules::kDtype,
            fmt::format("dtype {}: elements are float8_e4m3fn or float8_e5m2", name(element)));
}

void require_quantised(const Ask& a, const Type& x) {
  a.require(is_float(x.dtype) && size_bytes(x.dtype) >= 2, rules::kDtype, to_string(x));
  require_mx(a, std::get<DType>(a.op.attr("dtype")));
}

Shape scales_shape(Shape shape, std::int64_t axis) {
  shape[axis] = (shape[axis] + kMxGroup - 1) / kMxGroup;
  return shape;
}

// The exponent of a group with this largest magnitude as a byte.
double scale_of(double largest, DType element) {
  if (!std::isfinite(largest)) return 255;
  if (largest == 0) return 0;
  return std::max(0, std::ilogb(largest) - mx_exponent(element) + 127);
}

double factor_of(double scale) {
  return scale == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(scale) - 127);
}

Array scales_of(const Array& x, std::int64_t axis, DType element) {
  Array out{{DType::uint8, scales_shape(x.type.shape, axis)}, {}};
  out.data.assign(static_cast<std::size_t>(out.type.size()), 0);
  const Shape strides = strides_of(out.type.shape);
  for_each(x.type.shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      to += strides[d] * (static_cast<std::int64_t>(d) == axis ? at[d] / kMxGroup : at[d]);
    const double m = std::fabs(x.data[i]);
    if (std::isnan(m) || m > out.data[to]) out.data[to] = std::isnan(m) ? std::numeric_limits<double>::infinity() : m;
  });
  for (double& m : out.data) m = scale_of(m, element);
  return out;
}

// Calls fn(i, scale) for each element.
template <class Fn>
void with_scales(const Shape& shape, const Array& scales, std::int64_t axis, Fn&& fn) {
  const Shape strides = strides_of(scales.type.shape);
  for_each(shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      from += strides[d] * (static_cast<std::int64_t>(d) == axis ? at[d] / kMxGroup : at[d]);
    fn(i, scales.data[from]);
  });
}

// What is left of x after quantising.
Array rounded(const Array& x, std::int64_t axis, DType element) {
  Array out = x;
  with_scales(x.type.shape, scales_of(x, axis, element), axis, [&](std::int64_t i, double scale) {
    const double factor = factor_of(scale);
    out.data[i] = stored(element, x.data[i] / factor) * factor;
  });
  return out;
}

}  // namespace

Type infer_matmul_f32(const Ask& a) {
  for (std::size_t i : {0u, 1u}) a.require(is_narrow(a.operand(i).dtype), rules::kDtype, to_string(a.operand(i)));
  return {DType::float32, asked_product(a)};
}

Type infer_mx_quantize(const Ask& a) {
  asked_axis(a);
  require_quantised(a, a.operand(0));
  return {std::get<DType>(a.op.attr("dtype")), a.operand(0).shape};
}

Type infer_mx_scales(const Ask& a) {
  const std::int64_t axis = asked_axis(a);
  require_quantised(a, a.operand(0));
  return {DType::uint8, scales_shape(a.operand(0).shape, axis)};
}

Type infer_mx_dequantize(const Ask& a) {
  const std::int64_t axis = asked_axis(a);
  const Type &x = a.operand(0), &scales = a.operand(1);
  require_mx(a, x.dtype);
  a.require(scales == Type{DType::uint8, scales_shape(x.shape, axis)}, rules::kOperands,
            fmt::format("scales {} of {}", to_string(scales), to_string(x)));
  const DType to = std::get<DType>(a.op.attr("dtype"));
  a.require(is_float(to) && size_bytes(to) >= 2, rules::kDtype, fmt::format("dtype {}", name(to)));
  return {to, x.shape};
}

Type infer_mx_matmul(const Ask& a) {
  for (std::size_t i : {0u, 1u}) require_quantised(a, a.operand(i));
  a.require(a.operand(0).rank() >= 1 && a.operand(1).rank() == 2, rules::kMatmul,
            fmt::format("{} and {}", to_string(a.operand(0)), to_string(a.operand(1))));
  return {DType::float32, asked_product(a)};
}

Array eval_mx_quantize(const Eval& e) {
  Array out = e.make();
  const Array scales = scales_of(*e.in[0], e.op.integer("axis"), out.type.dtype);
  with_scales(out.type.shape, scales, e.op.integer("axis"), [&](std::int64_t i, double scale) {
    out.data[i] = stored(out.type.dtype, e.in[0]->data[i] / factor_of(scale));
  });
  return out;
}

Array eval_mx_scales(const Eval& e) {
  return scales_of(*e.in[0], e.op.integer("axis"), std::get<DType>(e.op.attr("dtype")));
}

Array eval_mx_dequantize(const Eval& e) {
  Array out = e.make();
  with_scales(out.type.shape, *e.in[1], e.op.integer("axis"), [&](std::int64_t i, double scale) {
    out.data[i] = stored(out.type.dtype, e.in[0]->data[i] * factor_of(scale));
  });
  return out;
}

Array eval_mx_matmul(const Eval& e) {
  const DType element = std::get<DType>(e.op.attr("dtype"));
  const Array x = rounded(*e.in[0], e.in[0]->type.rank() - 1, element), y = rounded(*e.in[1], 0, element);
  const std::vector<const Array*> in{&x, &y};
  return eval_matmul({e.op, in, e.working});
}

}  // namespace kiln::tensor
