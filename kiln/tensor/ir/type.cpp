#include "kiln/tensor/ir/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::tensor {

std::int64_t Type::size() const { return product(shape); }

std::int64_t product(const Shape& shape) { return product(shape, 0, shape.size()); }

std::int64_t product(const Shape& shape, std::size_t first, std::size_t end) {
  std::int64_t n = 1;
  for (std::size_t i = first; i < end; ++i) {
    if (__builtin_mul_overflow(n, shape[i], &n)) n = std::numeric_limits<std::int64_t>::max();
  }
  return n;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }
std::string to_string(const Type& type) { return fmt::format("{}{}", name(type.dtype), to_string(type.shape)); }

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = out[skip + i];
    if (extent == shorter[i] || shorter[i] == 1) continue;
    if (extent != 1) return {};
    extent = shorter[i];
  }
  return out;
}

namespace {

bool is_fp8(DType t) { return is_float(t) && size_bytes(t) == 1; }

// An integer or bool beside a float. NumPy: 8-bit integers fit float16, 16-bit ones float32, 32-bit ones float64.
DType float_with_integer(DType real, DType integer) {
  if (integer == DType::bool_ || size_bytes(integer) == 1) return real;
  return DType::float32;
}

std::optional<DType> promote_integers(DType a, DType b) {
  const bool a_signed = info(a).cls == DTypeClass::signed_int, b_signed = info(b).cls == DTypeClass::signed_int;
  if (a_signed == b_signed) return size_bytes(a) >= size_bytes(b) ? a : b;
  const DType with = a_signed ? a : b, without = a_signed ? b : a;
  if (size_bytes(with) > size_bytes(without)) return with;
  if (size_bytes(without) == 1) return DType::int16;
  if (size_bytes(without) == 2) return DType::int32;
  return {};
}

}  // namespace

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::bool_) return b;
  if (b == DType::bool_) return a;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_float(a) && is_integer(b)) return is_fp8(a) ? std::nullopt : std::optional(float_with_integer(a, b));
  if (is_integer(a) && is_float(b)) return promote(b, a);
  if (is_fp8(a) && is_fp8(b)) return {};
  if (is_fp8(a)) return b;
  if (is_fp8(b)) return a;
  if (is_float(a) && is_float(b)) return DType::float32;  // float16 and bfloat16, or one of 32 bits
  return {};
}

DType weak_dtype(DType tensor, bool is_real) {
  if (is_float(tensor)) return tensor;
  if (is_real) return DType::float32;
  return tensor == DType::bool_ ? DType::int32 : tensor;
}

DType real_dtype(DType dtype) {
  if (is_float(dtype)) return dtype;
  return dtype == DType::bool_ || size_bytes(dtype) == 1 ? DType::float16 : DType::float32;
}

double stored(DType dtype, double value) {
  if (dtype == DType::bool_) return value != 0;
  if (is_integer(dtype)) {
    if (std::isnan(value)) return 0;
    return wrapped(dtype, static_cast<std::int64_t>(std::clamp(std::trunc(value), -0x1p62, 0x1p62)));
  }
  return to_float(dtype, from_float(dtype, static_cast<float>(value)));
}

double wrapped(DType dtype, std::int64_t value) {
  const int bits = 8 * size_bytes(dtype);
  const auto low = static_cast<std::uint64_t>(value) & ((1ull << bits) - 1);
  const bool negative = info(dtype).cls == DTypeClass::signed_int && (low >> (bits - 1)) != 0;
  return static_cast<double>(static_cast<std::int64_t>(low) - (negative ? (1ll << bits) : 0));
}

double lowest(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  if (info(dtype).cls != DTypeClass::signed_int) return 0;
  return -std::ldexp(1.0, 8 * size_bytes(dtype) - 1);
}

double highest(DType dtype) {
  if (is_float(dtype)) return std::numeric_limits<double>::infinity();
  if (dtype == DType::bool_) return 1;
  return std::ldexp(1.0, 8 * size_bytes(dtype) - (info(dtype).cls == DTypeClass::signed_int ? 1 : 0)) - 1;
}

}  // namespace kiln::tensor
