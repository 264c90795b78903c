// Arithmetic of integers, exact in 32 bits: floats estimate, products of integers tell what is left.
#include <algorithm>
#include <numeric>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/passes/strided.h"
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

namespace {

bool is_whole(DType t) { return t == DType::bool_ || is_integer(t); }

// What an integer operand was before it was widened, views of it included.
std::optional<Expr> before_widening(const Expr& x) {
  const Op op = x.graph().op(x.value());  // a copy: adding ops moves them
  if (op.operands.empty()) return {};
  const Expr from{x.graph(), op.operands[0]};
  if (op.code == OpCode::cast && is_whole(from.dtype()) && size_bytes(from.dtype()) < size_bytes(x.dtype()))
    return before_widening(from).value_or(from);
  if (!is_view(op.code)) return {};
  const auto narrow = before_widening(from);
  if (!narrow) return {};
  return Expr{x.graph(), x.graph().add(op.code, {narrow->value()}, op.attrs)};
}

// A byte of each integer, as a number that bfloat16 has, and the largest magnitude that it can have.
struct Digit {
  Expr x;
  double most;
};

// Bytes of the integers of an operand, from the lowest on, no more than are in `t`. The highest one of a shorter
// operand has the sign.
std::vector<Digit> digits_of(const Expr& given, DType t) {
  const Expr x = before_widening(given).value_or(given);
  const int bytes = std::min(size_bytes(x.dtype()), size_bytes(t));
  const auto digit = [](const Expr& n, double most) { return Digit{cast(n, DType::bfloat16), most}; };
  if (size_bytes(x.dtype()) == 1 && (bytes < size_bytes(t) || !is_signed(x.dtype())))
    return {digit(x, x.dtype() == DType::bool_ ? 1 : is_signed(x.dtype()) ? 128 : 255)};
  const bool has_sign = is_signed(x.dtype()) && bytes < size_bytes(t);
  const Expr signed_bits = cast(x, DType::int32);
  const Expr bits = is_signed(x.dtype()) ? bitcast(signed_bits, DType::uint32) : cast(x, DType::uint32);
  std::vector<Digit> out;
  for (int i = 0; i < bytes; ++i) {
    if (has_sign && i + 1 == bytes)
      out.push_back(digit(right_shift(signed_bits, 8 * i), 128));
    else
      out.push_back(digit(bitwise_and(i == 0 ? bits : right_shift(bits, 8 * i), 255), 255));
  }
  return out;
}

Expr exact_product(const Expr& x, const Expr& y) {
  return bitcast(cast(matmul_f32(x, y), DType::int32), DType::uint32);
}

// x y in pieces of the sum that float32 has exactly, which are added up as integers; many pieces are one batch.
Expr product_in_pieces(const Expr& x, const Expr& y, std::int64_t piece) {
  constexpr std::int64_t kFewPieces = 8;
  const std::int64_t K = x.shape().back(), n = K / piece;
  std::optional<Expr> total;
  const auto add_up = [&](const Expr& part) { total = total ? add(*total, part) : part; };
  std::int64_t k = 0;
  if (n > kFewPieces && std::max(x.rank(), y.rank()) < 8) {
    Shape apart = x.shape(), rows = y.shape();
    apart.back() = n, apart.push_back(piece);
    rows.end()[-2] = n, rows.insert(rows.end() - 1, piece);
    Ints batch_first(apart.size());
    std::iota(batch_first.begin(), batch_first.end(), 0);
    std::swap(batch_first.end()[-3], batch_first.end()[-2]);
    k = n * piece;
    const Expr left = transpose(reshape(slice(x, -1, 0, k), apart), batch_first);
    const Expr right = reshape(slice(y, -2, 0, k), rows);
    add_up(sum(exact_product(left, right), {{-3}}));
  }
  for (; k < K; k += piece) add_up(exact_product(slice(x, -1, k, k + piece), slice(y, -2, k, k + piece)));
  return *total;
}

}  // namespace

// Bytes of both sides are multiplied on the tensor engine, so many products to a sum that float32 has it exactly; the
// sums are put together in 32-bit integers.
Expr product_of_integers(const Rewriting& r) {
  constexpr double kExact = 0x1p24;
  constexpr std::int64_t kBlock = 128;
  const DType t = r.op.type.dtype;
  Expr x = r.operand(0), y = r.operand(1);
  if (t == DType::bool_) {
    const Expr count = matmul(cast(x, DType::float32), cast(y, DType::float32));
    return greater(count, 0.0);
  }
  if (x.rank() == 1) x = reshape(x, {1, x.shape()[0]});
  if (y.rank() == 1) y = reshape(y, {y.shape()[0], 1});
  const std::vector<Digit> of_x = digits_of(x, t), of_y = digits_of(y, t);
  std::optional<Expr> total;
  for (int s = 0; s < size_bytes(t); ++s) {
    for (int i = 0; i <= s; ++i) {
      if (i >= static_cast<int>(of_x.size()) || s - i >= static_cast<int>(of_y.size())) continue;
      const Digit &a = of_x[i], &b = of_y[s - i];
      const auto piece = static_cast<std::int64_t>(kExact / (a.most * b.most)) / kBlock * kBlock;
      Expr whole = product_in_pieces(a.x, b.x, piece);
      if (s > 0) whole = left_shift(whole, 8 * s);
      total = total ? add(*total, whole) : whole;
    }
  }
  return reshape(narrow(r, *total), r.op.type.shape);
}

}  // namespace kiln::tensor
