// Inverse functions and what NumPy has beside them, by functions that the chip has.
#include <cmath>
#include <limits>
#include <numbers>

#include "kiln/tensor/passes/ways.h"

namespace kiln::tensor {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi, kLn2 = std::numbers::ln2;

// Functions work in float32 whatever the dtype of what they take and give.
Expr wide(const Expr& x) { return cast(x, DType::float32); }
Expr narrow(const Rewriting& r, const Expr& x) { return cast(x, r.op.type.dtype); }
Expr quotient(const Expr& x, const Expr& y) { return x * reciprocal(y); }
// By what a pair is multiplied so that the reciprocal of its larger one does not overflow.
Expr scale_of(const Expr& high) { return where(high < 0x1p-100, high * 0.0 + 0x1p100, 1.0); }
Expr is_negative(const Expr& x) { return less(bitcast(x, DType::int32), 0); }

// |magnitude| with the sign bit of `sign`.
Expr signed_as(const Expr& magnitude, const Expr& sign) {
  const Expr bits = bitwise_and(bitcast(magnitude, DType::uint32), std::int64_t{0x7fffffff});
  const Expr top = bitwise_and(bitcast(sign, DType::uint32), std::int64_t{0x80000000});
  return bitcast(bitwise_or(bits, top), DType::float32);
}

}  // namespace

// By the tangent of half the angle, which is at most one and loses nothing near 0 and 1.
Expr way_arcsin(const Rewriting& r) {
  const Expr x = wide(r.operand(0));
  return narrow(r, arctan(quotient(x, sqrt((1.0 - x) * (1.0 + x)) + 1.0)) * 2.0);
}
Expr way_arccos(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), a = abs(x);
  const Expr angle = arctan(sqrt(quotient(1.0 - a, 1.0 + a))) * 2.0;
  return narrow(r, where(x < 0.0, kPi - angle, angle));
}
Expr way_arcsinh(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), a = abs(x), b = minimum(a, 1e15);
  const Expr s = sqrt(square(b) + 1.0);
  const Expr small = log1p(b + square(b) * reciprocal(s + 1.0)), large = log(a) + kLn2;
  return narrow(r, signed_as(where(a < 1e8, small, large), x));
}
Expr way_arccosh(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), t = minimum(x, 1e15) - 1.0;
  const Expr made = where(x < 1e8, log1p(t + sqrt(t * (t + 2.0))), log(x) + kLn2);
  return narrow(r, where(x < 1.0, std::numeric_limits<double>::quiet_NaN(), made));
}
Expr way_arctanh(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), a = abs(x);
  const Expr half = log1p(quotient(a * 2.0, 1.0 - a)) * 0.5;
  return narrow(r, where(less_equal(a, 1.0), signed_as(half, x), half));
}

Expr way_arctan2(const Rewriting& r) {
  const Expr y = wide(r.operand(0)), x = wide(r.operand(1)), a = abs(y), b = abs(x);
  const Expr scale = scale_of(maximum(a, b)), low = minimum(a, b) * scale, high = maximum(a, b) * scale;
  const Expr both = logical_or(equal(high, 0.0), equal(low, kInf));  // 0 / 0, and infinity over infinity
  const Expr ratio = where(both, where(equal(low, kInf), 1.0, low), quotient(low, high));
  const Expr acute = arctan(ratio), steep = where(a > b, kPi / 2 - acute, acute);
  const Expr angle = where(is_negative(x), kPi - steep, steep);
  return narrow(r, where(equal(angle, angle), signed_as(angle, y), angle));
}

Expr way_hypot(const Rewriting& r) {
  const Expr x = abs(wide(r.operand(0))), y = abs(wide(r.operand(1)));
  const Expr longer = maximum(x, y), scale = scale_of(longer), high = longer * scale;
  const Expr ratio = quotient(minimum(x, y) * scale, where(equal(high, 0.0), 1.0, high));
  const Expr length = longer * sqrt(square(ratio) + 1.0);
  const Expr endless = logical_or(equal(x, kInf), equal(y, kInf));
  return narrow(r, where(endless, kInf, length));
}

// By logarithms, made better by one step of Newton.
Expr way_cbrt(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), a = abs(x), plain = logical_and(a > 0.0, a < kInf);
  const Expr b = where(plain, a, 1.0), root = exp(log(b) * (1.0 / 3));
  const Expr better = root - (root - quotient(b, square(root))) * (1.0 / 3);
  return narrow(r, where(plain, signed_as(better, x), x));
}

Expr way_sinc(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), zero = abs(x) < 1e-20, safe = where(zero, 1.0, x) * kPi;
  return narrow(r, where(zero, 1.0, quotient(sin(safe), safe)));
}
Expr way_deg2rad(const Rewriting& r) { return narrow(r, wide(r.operand(0)) * (kPi / 180)); }
Expr way_rad2deg(const Rewriting& r) { return narrow(r, wide(r.operand(0)) * (180 / kPi)); }

Expr way_signbit(const Rewriting& r) {
  const Expr x = r.operand(0);
  if (is_float(x.dtype())) return is_negative(wide(x));
  return less(x, Expr(r.to, r.to.constant({x.dtype(), {}}, {0})));
}
Expr way_copysign(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), y = wide(r.operand(1));
  return narrow(r, where(equal(x, x), signed_as(x, y), x));
}
Expr way_heaviside(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), y = wide(r.operand(1));
  const Expr step = where(equal(x, 0.0), y, cast(x > 0.0, DType::float32));
  return narrow(r, where(equal(x, x), step, x));
}

Expr way_logaddexp(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), y = wide(r.operand(1));
  const Expr sum = maximum(x, y) + log1p(exp(abs(x - y) * -1.0));
  return narrow(r, where(equal(x, y), x + kLn2, sum));
}
Expr way_logaddexp2(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), y = wide(r.operand(1));
  const Expr sum = maximum(x, y) + log1p(exp(abs(x - y) * -kLn2)) * (1 / kLn2);
  return narrow(r, where(equal(x, y), x + 1.0, sum));
}

Expr way_fmax(const Rewriting& r) {
  const Expr x = r.operand(0), y = r.operand(1), largest = maximum(x, y);
  if (!is_float(r.op.type.dtype)) return largest;
  const DType t = r.op.type.dtype;
  return where(not_equal(x, x), cast(y, t), where(not_equal(y, y), cast(x, t), largest));
}
Expr way_fmin(const Rewriting& r) {
  const Expr x = r.operand(0), y = r.operand(1), smallest = minimum(x, y);
  if (!is_float(r.op.type.dtype)) return smallest;
  const DType t = r.op.type.dtype;
  return where(not_equal(x, x), cast(y, t), where(not_equal(y, y), cast(x, t), smallest));
}

Expr way_fmod(const Rewriting& r) { return is_float(r.op.type.dtype) ? fmod_of_floats(r) : fmod_of_integers(r); }

}  // namespace kiln::tensor
