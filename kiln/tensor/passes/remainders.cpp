// Quotients and remainders of floats: a long division in float32 whose parts are exact.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/tensor/passes/ways.h"

namespace kiln::tensor {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr int kMantissa = 24;              // bits of a float32
constexpr int kQuotientBits = 66;          // of the largest quotient that is taken apart
constexpr double kLess = 0x1p-19;          // a part by which reciprocals are too small, so that no digit is too large
constexpr double kLargeQuotient = 0x1p60;  // quotients beyond it are given as they are estimated

Expr wide(const Expr& x) { return cast(x, DType::float32); }
Expr as_float(const Expr& x) { return cast(x, DType::float32); }
Expr bits_of(const Expr& x) { return bitcast(x, size_bytes(x.dtype()) == 2 ? DType::int16 : DType::int32); }

// The bits that a divisor has at most, from the first that is set to the last one.
int bits_of_divisor(const Rewriting& r) {
  if (const auto y = splat_of(r.to, r.operands[1]); y && std::isfinite(*y) && *y != 0) {
    int exponent = 0, bits = 1;
    double rest = std::frexp(static_cast<float>(*y), &exponent) * 2;
    for (rest -= std::trunc(rest); rest != 0; ++bits) rest = rest * 2 - std::trunc(rest * 2);
    return bits;
  }
  switch (r.operand(1).dtype()) {
    case DType::bfloat16:
      return 8;
    case DType::float16:
      return 11;
    default:
      return size_bytes(r.operand(1).dtype()) == 1 ? 4 : kMantissa;
  }
}

// A divisor whose products with digits are exact: in one piece, or in two of 12 bits.
struct Divisor {
  std::vector<Expr> pieces;  // of its magnitude, or of the largest number: 0 times it is 0
  int digit;                 // bits
};
Divisor divisor_of(const Rewriting& r, const Expr& y) {
  constexpr int kHalf = 12, kLongest = 15;
  const int bits = bits_of_divisor(r);
  const Expr b = minimum(abs(y), static_cast<double>(std::numeric_limits<float>::max()));
  if (bits <= kHalf) return {{b}, std::min(kLongest, kMantissa - 1 - bits)};
  const Expr high = bitcast(bitwise_and(bits_of(b), std::int64_t{-(1 << kHalf)}), DType::float32);
  return {{high, b - high}, kMantissa - 1 - kHalf};
}

struct Division {
  Expr x, y;
  Expr estimate;  // of |x| / |y|
  Expr rest;      // of |x| by |y|; beyond |y| where x is endless, y is 0, or its reciprocal is none
  Expr quotient;  // of |x| by |y|, rounded down
  Expr signs;     // bits, of which the first is the sign of the quotient
};

// An operand whose bits are those of the result.
Expr like_result(const Rewriting& r, std::size_t i) {
  const DType t = r.op.type.dtype;
  return cast(r.operand(i), size_bytes(t) == 2 ? t : DType::float32);
}

// Digits of the quotient from the first one down, each of which leaves a rest that is exact. Reciprocals are a little
// small, so that digits are never too large, and the last one is too small by one at most.
Division divided(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), y = wide(r.operand(1)), b = abs(y);
  const Divisor by = divisor_of(r, y);
  const Expr inverse = minimum(reciprocal(b) * (1 - kLess), 0x1p127);  // times 0 is 0
  const auto less_digits = [&](Expr from, const Expr& digit) {
    for (const Expr& piece : by.pieces) from = from - digit * piece;
    return from;
  };
  Expr rest = abs(x);
  std::vector<Expr> parts;
  const int digits = (kQuotientBits + by.digit - 1) / by.digit;
  for (int i = digits - 1; i >= 0; --i) {
    const double unit = std::ldexp(1.0, i * by.digit);
    // A cast rounds to the nearest.
    parts.push_back(as_float(cast(rest * inverse * (1 / unit) - 0.5, DType::int32)) * unit);
    if (i > 0) rest = less_digits(rest, parts.back());
  }
  // What the last digit leaves may be as much as twice the divisor. Of a long one that can be one bit more than a
  // float32 has: enough to compare it with the divisor, but it is computed again with the digit that is right.
  const Expr last = less_digits(rest, parts.back()), more = as_float(greater_equal(last, b));
  parts.back() = parts.back() + more;
  rest = by.pieces.size() == 1 ? last - more * by.pieces[0] : less_digits(rest, parts.back());
  Expr quotient = parts.back();  // the smallest part first, so that a quotient which is a number comes out as it
  for (auto part = std::next(parts.rbegin()); part != parts.rend(); ++part) quotient = *part + quotient;
  return {x, y, abs(x) * inverse, rest, quotient, bitwise_xor(bits_of(like_result(r, 0)), bits_of(like_result(r, 1)))};
}

// A magnitude, which may be no number, with a sign.
Expr signed_as(const Rewriting& r, const Expr& magnitude, const Expr& signs) {
  const Expr narrow = cast(magnitude, like_result(r, 0).dtype());
  const std::int64_t top = signs.dtype() == DType::int16 ? std::numeric_limits<std::int16_t>::min()
                                                         : std::numeric_limits<std::int32_t>::min();
  return cast(bitcast(bitwise_or(bits_of(narrow), bitwise_and(signs, top)), narrow.dtype()), r.op.type.dtype);
}

// Where a quotient that is no integer is negative.
Expr is_below(const Division& d, const Expr& rest) { return logical_and(not_equal(rest, 0.0), less(d.signs, 0)); }

// What is left where there is something like that, and the quotient has few enough bits.
Expr right_rest(const Division& d) {
  const Expr too_long = greater_equal(d.estimate, std::ldexp(1.0, kQuotientBits));
  return where(logical_or(too_long, greater_equal(d.rest, abs(d.y))), kNoNumber, d.rest);
}

}  // namespace

// NumPy's: towards minus infinity; x / y where y is 0, and where the quotient has more bits than are taken apart.
Expr floor_divide_floats(const Rewriting& r) {
  const Division d = divided(r);
  const Expr plain = abs(d.x) * reciprocal(abs(d.y));
  const Expr magnitude = where(less_equal(plain, kLargeQuotient), d.quotient + as_float(is_below(d, d.rest)), plain);
  return signed_as(r, where(logical_and(equal(abs(d.x), kEndless), abs(d.y)), kNoNumber, magnitude), d.signs);
}

// With the sign of y.
Expr remainder_of_floats(const Rewriting& r) {
  const Division d = divided(r);
  const Expr rest = right_rest(d);
  return signed_as(r, where(is_below(d, rest), abs(d.y) - rest, rest), bits_of(like_result(r, 1)));
}

// With the sign of x.
Expr fmod_of_floats(const Rewriting& r) { return signed_as(r, right_rest(divided(r)), bits_of(like_result(r, 0))); }

}  // namespace kiln::tensor
