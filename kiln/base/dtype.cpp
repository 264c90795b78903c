#include "kiln/base/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kiln/base/error.h"

namespace kiln {

namespace {

constexpr int kF32Mantissa = 23;
constexpr std::uint32_t kF32Sign = 0x80000000u;
constexpr std::uint32_t kF32Infinity = 0x7f800000u;
constexpr std::uint32_t kF32Quiet = 0x00400000u;

// A float format as the table describes it. "Code" below is an encoding without its sign: ordered like the
// values.
struct Format {
  explicit constexpr Format(const DTypeInfo& row)
      : e(row.exponent_bits),
        m(row.mantissa_bits),
        bias(row.bias),
        has_infinity(row.has_infinity),
        is_signed(row.cls != DTypeClass::scale) {}

  constexpr std::uint32_t last_code() const { return (1u << (e + m)) - 1; }
  constexpr std::uint32_t infinity_code() const { return last_code() >> m << m; }
  // The four-bit format spends every code on a finite value.
  constexpr bool has_nan() const { return e + m > 3; }
  // The first code that is no finite value.
  constexpr std::uint32_t finite_end() const {
    return has_infinity ? infinity_code() : last_code() + (has_nan() ? 0 : 1);
  }
  constexpr std::uint32_t overflow_code() const {
    return has_infinity ? infinity_code() : last_code();  // NaN, or the largest value if there is no NaN
  }

  int e, m, bias;
  bool has_infinity, is_signed;
};

// An element may be wider than its format (tfloat32): the format then holds the upper bits.
constexpr int padding_bits(const DTypeInfo& row) {
  return 8 * row.size_bytes - (1 + row.exponent_bits + row.mantissa_bits);
}

std::uint32_t with_sign(const Format& f, bool negative, std::uint32_t code) {
  return negative ? code | 1u << (f.e + f.m) : code;
}

std::uint64_t shift_right_ties_to_even(std::uint64_t x, int shift) {
  shift = std::min(shift, 63);
  const std::uint64_t kept = x >> shift;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = x - (kept << shift);
  return kept + (rest + (kept & 1) > half);  // an odd neighbour tips the tie, without a branch
}

// The code nearest to significand * 2^exponent. Normal codes count on from the subnormal ones, so a carry out
// of the mantissa moves to the next exponent by itself.
std::uint32_t round_to_code(const Format& f, std::uint64_t significand, int exponent) {
  const int min_exponent = 1 - f.bias;
  const int top = std::max(exponent + static_cast<int>(std::bit_width(significand)) - 1, min_exponent);
  if (top > f.bias + 1) return f.overflow_code();
  const int shift = top - f.m - exponent;
  const std::uint64_t rounded = shift > 0 ? shift_right_ties_to_even(significand, shift) : significand << -shift;
  const auto code = static_cast<std::uint32_t>(rounded) + (static_cast<std::uint32_t>(top - min_exponent) << f.m);
  return code < f.finite_end() ? code : f.overflow_code();
}

std::uint32_t encode_finite(const Format& f, bool negative, std::uint64_t significand, int exponent) {
  if (!f.is_signed && (negative || significand == 0)) return f.last_code();  // a scale has neither sign nor zero
  if (significand == 0) return with_sign(f, negative, 0);
  return with_sign(f, negative, round_to_code(f, significand, exponent));
}

std::uint32_t encode_nan(const Format& f, bool negative, std::uint32_t f32_mantissa) {
  if (!f.has_nan()) return with_sign(f, !negative, 0);
  if (!f.is_signed) return f.last_code();
  if (!f.has_infinity) return with_sign(f, negative, f.last_code());
  return with_sign(f, negative, f.infinity_code() | (f32_mantissa | kF32Quiet) >> (kF32Mantissa - f.m));
}

std::uint32_t encode(const Format& f, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool negative = bits & kF32Sign;
  const std::uint32_t mantissa = bits & ((1u << kF32Mantissa) - 1);
  const int exponent = bits >> kF32Mantissa & 0xff;
  if (exponent == 0xff && mantissa != 0) return encode_nan(f, negative, mantissa);
  if (exponent == 0xff) return f.is_signed ? with_sign(f, negative, f.overflow_code()) : f.last_code();
  const std::uint32_t hidden = exponent != 0 ? 1u << kF32Mantissa : 0;
  return encode_finite(f, negative, hidden | mantissa, std::max(exponent, 1) - 127 - kF32Mantissa);
}

float decode(const Format& f, std::uint32_t bits) {
  const std::uint32_t code = bits & f.last_code();
  const std::uint32_t sign = bits > f.last_code() ? kF32Sign : 0;
  const std::uint32_t aligned = code << (kF32Mantissa - f.m);
  if (code >= f.finite_end()) {
    const bool infinite = f.has_infinity && code == f.infinity_code();
    const std::uint32_t mantissa = aligned & ((1u << kF32Mantissa) - 1);
    return std::bit_cast<float>(sign | kF32Infinity | (infinite ? 0 : mantissa | kF32Quiet));
  }
  if (!f.is_signed && code == 0) return 0x1p-127f;  // a scale has no zero: code 0 is one more power of two
  // Read as a float32, the code is the value but for the bias; a product with a power of two puts that right
  // exactly, for subnormal codes too.
  const auto rebias = std::bit_cast<float>(static_cast<std::uint32_t>(2 * 127 - f.bias) << kF32Mantissa);
  return std::bit_cast<float>(sign | aligned) * rebias;
}

std::int64_t int_min(const DTypeInfo& row) {
  return row.cls == DTypeClass::signed_int ? -(std::int64_t{1} << (8 * row.size_bytes - 1)) : 0;
}

std::int64_t int_max(const DTypeInfo& row) {
  return (std::int64_t{1} << (8 * row.size_bytes - (row.cls == DTypeClass::signed_int))) - 1;
}

std::uint32_t int_bits(const DTypeInfo& row, std::int64_t value) {
  return static_cast<std::uint32_t>(value) & (0xffffffffu >> (32 - 8 * row.size_bytes));
}

std::int64_t round_saturate(const DTypeInfo& row, float value) {
  if (std::isnan(value)) return 0;
  const auto lo = static_cast<double>(int_min(row)), hi = static_cast<double>(int_max(row));
  return std::llrint(std::clamp(static_cast<double>(value), lo, hi));
}

int sub_element_bits(DType t) { return 8 * size_bytes(t) / 4; }

}  // namespace

bool parse_dtype(std::string_view text, DType& out) {
  const auto* row = std::ranges::find(kDTypes, text, &DTypeInfo::name);
  if (row == std::end(kDTypes)) return false;
  out = static_cast<DType>(row - kDTypes);
  return true;
}

float to_float(DType t, std::uint32_t bits) {
  KILN_ASSERT(!is_packed(t));
  if (t == DType::float32 || t == DType::tfloat32) return std::bit_cast<float>(bits);
  if (is_float(t) || info(t).cls == DTypeClass::scale) return decode(Format(info(t)), bits);
  return static_cast<float>(to_int(t, bits));
}

std::uint32_t from_float(DType t, float value) {
  const DTypeInfo& row = info(t);
  switch (row.cls) {
    case DTypeClass::boolean:
      return value != 0;
    case DTypeClass::unsigned_int:
    case DTypeClass::signed_int:
      return int_bits(row, round_saturate(row, value));
    case DTypeClass::floating:
      if (t == DType::float32) return std::bit_cast<std::uint32_t>(value);
      return encode(Format(row), value) << padding_bits(row);
    case DTypeClass::scale:
      return encode(Format(row), value);
    case DTypeClass::packed:
      break;
  }
  internal_error(__FILE__, __LINE__, "a packed dtype holds no single float");
}

std::int64_t to_int(DType t, std::uint32_t bits) {
  KILN_ASSERT(is_integer(t) || t == DType::bool_);
  if (t == DType::bool_) return bits != 0;
  if (info(t).cls == DTypeClass::unsigned_int) return bits;
  const int unused = 32 - 8 * size_bytes(t);
  return static_cast<std::int32_t>(bits << unused) >> unused;
}

std::uint32_t from_int(DType t, std::int64_t value) {
  const DTypeInfo& row = info(t);
  KILN_ASSERT(!is_packed(t));
  if (t == DType::bool_) return value != 0;
  if (is_integer(t)) return int_bits(row, std::clamp(value, int_min(row), int_max(row)));
  const bool negative = value < 0;
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint32_t encoded = encode_finite(Format(row), negative, negative ? 0 - bits : bits, 0);
  return row.cls == DTypeClass::floating ? encoded << padding_bits(row) : encoded;
}

float unpack(DType t, std::uint32_t bits, int q) {
  KILN_ASSERT(is_packed(t) && q >= 0 && q < 4);
  const int width = sub_element_bits(t);
  return decode(Format(info(t)), bits >> (q * width) & ((1u << width) - 1));
}

std::uint32_t pack(DType t, const float values[4]) {
  KILN_ASSERT(is_packed(t));
  std::uint32_t bits = 0;
  for (int q = 0; q < 4; ++q) bits |= encode(Format(info(t)), values[q]) << (q * sub_element_bits(t));
  return bits;
}

std::uint32_t load_bits(DType t, const void* address) {
  std::uint32_t bits = 0;
  switch (size_bytes(t)) {  // constant sizes compile to single loads
    case 1:
      std::memcpy(&bits, address, 1);
      break;
    case 2:
      std::memcpy(&bits, address, 2);
      break;
    default:
      std::memcpy(&bits, address, 4);
  }
  return bits;
}

void store_bits(DType t, std::uint32_t bits, void* address) {
  switch (size_bytes(t)) {
    case 1:
      std::memcpy(address, &bits, 1);
      break;
    case 2:
      std::memcpy(address, &bits, 2);
      break;
    default:
      std::memcpy(address, &bits, 4);
  }
}

}  // namespace kiln
