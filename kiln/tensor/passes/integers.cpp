// Arithmetic of integers, exact in 32 bits: floats estimate, products of integers tell what is left.
#include "kiln/tensor/passes/ways.h"

namespace kiln::tensor {
namespace {

bool is_signed(DType t) { return kiln::info(t).cls == DTypeClass::signed_int; }
Expr number(const Rewriting& r, double x, DType t) { return {r.to, r.to.constant({t, {}}, {x})}; }

// The 32-bit dtype in which an op on integers works.
DType wide_dtype(const Rewriting& r) { return is_signed(r.op.type.dtype) ? DType::int32 : DType::uint32; }
Expr wide(const Rewriting& r, std::size_t i) { return cast(cast(r.operand(i), r.op.type.dtype), wide_dtype(r)); }

struct Division {
  Expr quotient, rest;
};

// Of uint32 by uint32, which is not zero. The estimate is too low by a part in 2^20 at most, and never too high: what
// is left is estimated again, and then the quotient is one too low at most.
Division divided(const Rewriting& r, const Expr& x, const Expr& y) {
  const Expr inverse = reciprocal(cast(y, DType::float32)) * (1 - 0x1p-21);
  const auto estimate = [&](const Expr& n) {
    const Expr q = cast(n, DType::float32) * inverse - 0.5;  // a cast rounds to the nearest
    return cast(maximum(q, number(r, 0, DType::float32)), DType::uint32);
  };
  const Expr first = estimate(x), left = subtract(x, multiply(first, y));
  const Expr second = estimate(left), rest = subtract(left, multiply(second, y));
  const Expr one_more = cast(greater_equal(rest, y), DType::uint32);
  return {add(add(first, second), one_more), subtract(rest, multiply(one_more, y))};
}

struct Signed {
  Expr quotient, rest;  // of the magnitudes, as uint32
  Expr x_is_negative, y_is_negative, y_is_zero;
};

Signed divided_signed(const Rewriting& r) {
  const Expr x = wide(r, 0), y = wide(r, 1), zero = number(r, 0, x.dtype());
  const Expr by = where(equal(y, zero), number(r, 1, y.dtype()), y);
  const auto magnitude = [&](const Expr& n) {
    return is_signed(n.dtype()) ? bitcast(maximum(n, subtract(zero, n)), DType::uint32) : n;
  };
  const Division d = divided(r, magnitude(x), magnitude(by));
  return {d.quotient, d.rest, less(x, zero), less(y, zero), equal(y, zero)};
}

Expr opposite(const Rewriting& r, const Expr& x) { return subtract(number(r, 0, x.dtype()), x); }

// The low bits of a 32-bit result.
Expr narrow(const Rewriting& r, const Expr& x) {
  const DType t = r.op.type.dtype;
  if (x.dtype() == t) return x;
  return size_bytes(t) == 4 ? bitcast(x, t) : cast(x, t);
}

}  // namespace

Expr floor_divide_integers(const Rewriting& r) {
  const Signed d = divided_signed(r);
  Expr q = d.quotient;
  if (is_signed(r.op.type.dtype)) {
    const Expr more = cast(not_equal(d.rest, number(r, 0, DType::uint32)), DType::uint32);
    q = where(not_equal(d.x_is_negative, d.y_is_negative), opposite(r, add(q, more)), q);
  }
  return narrow(r, where(d.y_is_zero, number(r, 0, DType::uint32), q));  // as NumPy does
}

Expr remainder_of_integers(const Rewriting& r) {
  const Signed d = divided_signed(r);
  if (!is_signed(r.op.type.dtype)) return narrow(r, where(d.y_is_zero, number(r, 0, DType::uint32), d.rest));
  const Expr y = bitcast(wide(r, 1), DType::uint32), none = number(r, 0, DType::uint32);
  const Expr own = where(d.x_is_negative, opposite(r, d.rest), d.rest);
  const Expr differ = logical_and(not_equal(d.x_is_negative, d.y_is_negative), not_equal(d.rest, none));
  return narrow(r, where(d.y_is_zero, none, where(differ, add(own, y), own)));
}

Expr fmod_of_integers(const Rewriting& r) {
  const Signed d = divided_signed(r);
  Expr rest = d.rest;
  if (is_signed(r.op.type.dtype)) rest = where(d.x_is_negative, opposite(r, rest), rest);
  return narrow(r, where(d.y_is_zero, number(r, 0, DType::uint32), rest));
}

// Squares of the base, one for each bit of the exponent.
Expr power_of_integers(const Rewriting& r) {
  const DType t = r.op.type.dtype;
  const Expr x = wide(r, 0), y = wide(r, 1), none = number(r, 0, y.dtype());
  Expr base = is_signed(t) ? bitcast(x, DType::uint32) : x;
  const Expr exponent = is_signed(t) ? bitcast(maximum(y, none), DType::uint32) : y;
  const auto known = splat_of(r.to, r.operands[1]);
  Expr out = number(r, 1, DType::uint32);
  const int bits = 8 * size_bytes(t) - (is_signed(t) ? 1 : 0);
  for (int i = 0; i < bits; ++i) {
    const std::int64_t bit = std::int64_t{1} << i;
    if (known && (*known < 0 || static_cast<std::int64_t>(*known) < bit)) break;
    if (i > 0) base = multiply(base, base);
    if (known) {
      if ((static_cast<std::int64_t>(*known) & bit) != 0) out = multiply(out, base);
    } else {
      const Expr is_set = not_equal(bitwise_and(exponent, bit), number(r, 0, DType::uint32));
      out = where(is_set, multiply(out, base), out);
    }
  }
  return narrow(r, broadcast_to(out, r.op.type.shape));
}

// Bytes of both sides are multiplied on the tensor engine, at most 256 products to a sum: exact in float32. The sums
// are put together in 32-bit integers.
Expr product_of_integers(const Rewriting& r) {
  constexpr std::int64_t kExact = 256;
  const DType t = r.op.type.dtype;
  Expr x = r.operand(0), y = r.operand(1);
  if (t == DType::bool_) {
    const Expr count = matmul(cast(x, DType::float32), cast(y, DType::float32));
    return greater(count, 0.0);
  }
  if (x.rank() == 1) x = reshape(x, {1, x.shape()[0]});
  if (y.rank() == 1) y = reshape(y, {y.shape()[0], 1});
  const auto bits_of = [&](const Expr& e) {
    const Expr same = cast(e, t);
    return is_signed(t) ? bitcast(cast(same, DType::int32), DType::uint32) : cast(same, DType::uint32);
  };
  const auto byte_of = [&](const Expr& bits, int i) {
    const Expr low = i == 0 ? bits : right_shift(bits, 8 * i);
    return cast(bitwise_and(low, 255), DType::float32);
  };
  x = bits_of(x);
  y = bits_of(y);
  const std::int64_t K = x.shape().back();
  const int bytes = size_bytes(t);
  std::optional<Expr> total;
  for (int s = 0; s < bytes; ++s) {
    for (int i = 0; i <= s; ++i) {
      const Expr a = byte_of(x, i), b = byte_of(y, s - i);
      for (std::int64_t k = 0; k < K; k += kExact) {
        const Expr part = matmul(slice(a, -1, k, k + kExact), slice(b, -2, k, k + kExact));
        Expr whole = cast(part, DType::uint32);
        if (s > 0) whole = left_shift(whole, 8 * s);
        total = total ? add(*total, whole) : whole;
      }
    }
  }
  return reshape(narrow(r, *total), r.op.type.shape);
}

}  // namespace kiln::tensor
