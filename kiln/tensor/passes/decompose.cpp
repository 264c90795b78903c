#include "kiln/tensor/passes/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/passes/long_sums.h"
#include "kiln/tensor/passes/reduction_order.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/short_products.h"
#include "kiln/tensor/passes/strided.h"
#include "kiln/tensor/passes/tile.h"
#include "kiln/tensor/passes/ways.h"

namespace kiln::tensor {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Way = Expr (*)(const Rewriting&);

[[noreturn]] void not_yet(const Rewriting& r, const std::string& what) {
  raise(rules::kTable, rules::kNotYet,
        {.found = fmt::format("not yet: {} of {}", what, to_string(r.op.type)),
         .loc = r.from.loc(r.op),
         .category = Category::not_yet});
}

Expr number(const Rewriting& r, double x, DType t) { return {r.to, r.to.constant({t, {}}, {x})}; }
bool of_floats(const Rewriting& r) { return is_float(working_dtype(r.from, r.op)); }

// Functions work in float32 whatever the dtype of what they take and give.
Expr wide(const Here& x) { return cast(x, DType::float32); }

Expr way_negative(const Rewriting& r) {
  const Expr x = r.operand(0);
  return of_floats(r) ? x * -1.0 : subtract(number(r, 0, x.dtype()), x);
}

Expr way_divide(const Rewriting& r) {
  Expr x = r.operand(0), y = r.operand(1);
  if (!is_float(x.dtype())) x = wide(x);
  if (!is_float(y.dtype())) y = wide(y);
  const auto c = splat_of(r.to, y.value());
  if (c && *c != 0 && std::isfinite(1 / *c)) return cast(x * number(r, 1 / *c, DType::float32), r.op.type.dtype);
  return cast(x * reciprocal(wide(y)), r.op.type.dtype);
}

// Adding and taking away 2^23 leaves the nearest integer, ties to even; beyond that everything is one.
Expr nearest(const Expr& x) {
  const Expr a = abs(x);
  return where(a < 0x1p23, (a + 0x1p23) - 0x1p23, a) * sign(x);
}
Expr way_rint(const Rewriting& r) {
  return of_floats(r) ? cast(nearest(wide(r.operand(0))), r.op.type.dtype) : r.operand(0);
}
Expr below(const Expr& x) {
  const Expr n = nearest(x);
  return n - cast(n > x, DType::float32);
}
Expr above(const Expr& x) {
  const Expr n = nearest(x);
  return n + cast(n < x, DType::float32);
}
Expr way_floor(const Rewriting& r) {
  return of_floats(r) ? cast(below(wide(r.operand(0))), r.op.type.dtype) : r.operand(0);
}
Expr way_ceil(const Rewriting& r) {
  return of_floats(r) ? cast(above(wide(r.operand(0))), r.op.type.dtype) : r.operand(0);
}
Expr toward_zero(const Expr& x) { return below(abs(x)) * sign(x); }
Expr way_trunc(const Rewriting& r) {
  return of_floats(r) ? cast(toward_zero(wide(r.operand(0))), r.op.type.dtype) : r.operand(0);
}

Expr way_floor_divide(const Rewriting& r) { return of_floats(r) ? floor_divide_floats(r) : floor_divide_integers(r); }
Expr way_remainder(const Rewriting& r) { return of_floats(r) ? remainder_of_floats(r) : remainder_of_integers(r); }

Expr way_power(const Rewriting& r) {
  const auto y = splat_of(r.to, r.operands[1]);
  const Expr x = r.operand(0);
  const bool same = r.op.type == x.type();
  if (same && y && *y == 2) return square(x);
  if (same && y && *y == 0.5 && of_floats(r)) return sqrt(x);
  if (same && y && *y == -1 && of_floats(r)) return reciprocal(x);
  if (same && y && *y == 1) return x;
  if (same && y && *y == 3) return x * square(x);
  if (same && y && *y == 4) return square(square(x));
  if (!of_floats(r)) return power_of_integers(r);
  return {r.to, r.to.copy(r.from, r.op, r.operands)};
}

Expr way_exp2(const Rewriting& r) { return cast(exp(wide(r.operand(0)) * std::log(2.0)), r.op.type.dtype); }
// Near zero by tanh, which loses nothing there.
Expr way_expm1(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), t = tanh(x * 0.5);
  return cast(where(abs(x) < 1.0, t * 2.0 * reciprocal(1.0 - t), exp(x) - 1.0), r.op.type.dtype);
}
Expr way_log2(const Rewriting& r) { return cast(log(wide(r.operand(0))) * (1 / std::log(2.0)), r.op.type.dtype); }
Expr way_log10(const Rewriting& r) { return cast(log(wide(r.operand(0))) * (1 / std::log(10.0)), r.op.type.dtype); }
// What rounding 1 + x loses is made good by a quotient, which is 1 for all that is large.
// Whether v is at most 0, or no number, by the op that makes it.
bool is_never_above_zero(const Graph& g, Value v) {
  const auto is_magnitude = [&](Value x) { return g.op(x).code == OpCode::abs || g.op(x).code == OpCode::square; };
  const Op& op = g.op(v);
  if (op.code == OpCode::cast && is_float(g.type(op.operands[0]).dtype)) return is_never_above_zero(g, op.operands[0]);
  if (op.code == OpCode::negative) return is_magnitude(op.operands[0]);
  if (op.code != OpCode::multiply && op.code != OpCode::minimum) return false;
  for (std::size_t i : {0, 1}) {
    const auto number = splat_of(g, op.operands[i]);
    if (number && *number <= 0 && (op.code == OpCode::minimum || is_magnitude(op.operands[1 - i]))) return true;
  }
  return false;
}

// log(1 + e^x), where e^x cannot overflow, is one function.
std::optional<Expr> softplus_below_zero(const Rewriting& r) {
  Value v = r.operands[0];
  if (r.to.op(v).code == OpCode::cast && is_float(r.to.type(r.to.op(v).operands[0]).dtype)) v = r.to.op(v).operands[0];
  if (r.to.op(v).code != OpCode::exp || !is_never_above_zero(r.to, r.to.op(v).operands[0])) return {};
  return cast(softplus(wide(Expr(r.to, r.to.op(v).operands[0]))), r.op.type.dtype);
}

Expr way_log1p(const Rewriting& r) {
  constexpr double kLarge = 0x1p40, kSmall = 0x1p-11;
  if (const auto whole = softplus_below_zero(r)) return *whole;
  if (size_bytes(r.operand(0).dtype()) == 2) {  // the sum keeps more bits than there are, and below it x is as good
    const Expr x = wide(r.operand(0));
    return cast(where(abs(x) < kSmall, x, log(x + 1.0)), r.op.type.dtype);
  }
  const Expr x = wide(r.operand(0)), u = x + 1.0, d = u - 1.0;
  const Expr fixed = log(u) * (minimum(x, kLarge) * reciprocal(minimum(d, kLarge)));
  return cast(where(equal(d, 0.0), x, fixed), r.op.type.dtype);
}

// x = rest + n * pi, for angles up to 10^8: a rest of little more than a right angle at most, and 1 or -1 as n is even
// or odd. The multiple comes in two steps, whose parts and the first digits of pi have so few bits that their products
// are exact, and so are the differences. What is no number stays so by the first.
struct Angle {
  Expr rest, sign;
};
Angle reduced_angle(const Expr& x) {
  constexpr double kFirst = 0x1.92p+1, kSecond = 0x1.fb4p-11, kRest = std::numbers::pi - kFirst - kSecond;
  constexpr double kRound = 0x1.8p35;  // to a multiple of 2^12
  const Expr high = (x * (1 / std::numbers::pi) + kRound) - kRound;
  const Expr first = x - high * kFirst - high * kSecond;
  const Expr n = cast((first - high * kRest) * (1 / std::numbers::pi), DType::int32);  // rounds to the nearest
  const Expr low = cast(n, DType::float32), odd = cast(bitwise_and(n, 1), DType::float32);
  return {first - low * kFirst - low * kSecond - (high + low) * kRest, odd * -2.0 + 1.0};
}
constexpr double kStraight = 3.1415925F;  // a straight angle, or a little less
Expr clamped(const Expr& x) { return minimum(maximum(x, -kStraight), kStraight); }
Expr sine(const Expr& x) {
  const Angle y = reduced_angle(x);
  return sin(clamped(y.rest)) * y.sign;
}
// The sine itself is left to the scalar engine: what has been reduced is not reduced again.
bool is_reduced(const Rewriting& r) {
  const Op& end = r.operand_op(0);
  if (end.code != OpCode::minimum || splat_of(r.to, end.operands[1]).value_or(kInf) > kStraight) return false;
  const Op& begin = r.to.op(end.operands[0]);
  return begin.code == OpCode::maximum && splat_of(r.to, begin.operands[1]).value_or(-kInf) >= -kStraight;
}
Expr way_sin(const Rewriting& r) {
  if (is_reduced(r)) return {r.to, r.to.copy(r.from, r.op, r.operands)};
  return cast(sine(wide(r.operand(0))), r.op.type.dtype);
}
Expr cosine(const Expr& x) {
  const Angle y = reduced_angle(x);  // cos y = sin(pi/2 - |y|)
  return sin(clamped(std::numbers::pi / 2 - abs(y.rest))) * y.sign;
}
Expr way_cos(const Rewriting& r) { return cast(cosine(wide(r.operand(0))), r.op.type.dtype); }
Expr way_tan(const Rewriting& r) {
  const Expr x = wide(r.operand(0));
  return cast(sine(x) * reciprocal(cosine(x)), r.op.type.dtype);
}
Expr way_arctan(const Rewriting& r) {
  const Op& end = r.operand_op(0);
  const bool is_inner = end.code == OpCode::minimum && splat_of(r.to, end.operands[1]) == 1.0 &&
                        r.to.op(end.operands[0]).code == OpCode::where;
  if (is_inner) return {r.to, r.to.copy(r.from, r.op, r.operands)};
  const Expr x = wide(r.operand(0)), a = abs(x), big = a > 1.0;
  const Expr inner = minimum(where(big, reciprocal(maximum(a, 1.0)), a), 1.0);
  const Expr t = arctan(inner);
  return cast(where(big, 1.5707963267948966 - t, t) * sign(x), r.op.type.dtype);
}
Expr way_sinh(const Rewriting& r) {
  const Expr x = wide(r.operand(0)), t = tanh(x * 0.5);
  const Expr small = t * 2.0 * reciprocal(1.0 - square(t)), h = exp(abs(x) - std::log(2.0));
  const Expr large = (h - exp(abs(x) * -1.0 - std::log(2.0))) * sign(x);
  return cast(where(abs(x) < 1.0, small, large), r.op.type.dtype);
}
Expr way_cosh(const Rewriting& r) {
  const Expr a = abs(wide(r.operand(0)));
  return cast(exp(a - std::log(2.0)) + exp(a * -1.0 - std::log(2.0)), r.op.type.dtype);
}

Expr way_logical_not(const Rewriting& r) { return equal(r.operand(0), number(r, 0, r.operand(0).dtype())); }
Expr way_invert(const Rewriting& r) {
  const Expr x = r.operand(0);
  if (x.dtype() == DType::bool_) return way_logical_not(r);
  return bitwise_xor(x, number(r, -1, x.dtype()));
}
Expr way_isnan(const Rewriting& r) { return not_equal(r.operand(0), r.operand(0)); }
Expr way_isinf(const Rewriting& r) { return equal(abs(wide(r.operand(0))), number(r, kInf, DType::float32)); }
Expr way_isfinite(const Rewriting& r) { return less(abs(wide(r.operand(0))), number(r, kInf, DType::float32)); }
Expr way_reciprocal(const Rewriting& r) { return {r.to, r.to.copy(r.from, r.op, r.operands)}; }

// Whether x is y with its bits turned where it was negative, as way_right_shift makes it.
bool is_turned(const Graph& g, const Op& x) {
  if (x.code != OpCode::bitwise_xor) return false;
  const Op& mask = g.op(x.operands[1]);
  if (mask.code != OpCode::subtract || splat_of(g, mask.operands[0]) != 0.0) return false;
  const Op& truth = g.op(mask.operands[1]);
  if (truth.code != OpCode::cast) return false;
  const Op& negative = g.op(truth.operands[0]);
  return negative.code == OpCode::less && negative.operands[0] == x.operands[0] &&
         splat_of(g, negative.operands[1]) == 0.0;
}
// The chip shifts zeros in: the bits of negative numbers are turned before and after.
Expr way_right_shift(const Rewriting& r) {
  const Expr x = cast(r.operand(0), r.op.type.dtype), y = cast(r.operand(1), r.op.type.dtype);
  if (kiln::info(x.dtype()).cls != DTypeClass::signed_int || is_turned(r.to, r.to.op(x.value())))
    return {r.to, r.to.add(OpCode::right_shift, {x.value(), y.value()})};
  const Expr zero = number(r, 0, x.dtype());
  const Expr mask = subtract(zero, cast(less(x, zero), x.dtype()));
  return bitwise_xor(right_shift(bitwise_xor(x, mask), y), mask);
}

// Functions of the scalar engine, on integers; and on truth what is arithmetic elsewhere.
std::optional<Value> elementwise_of_integers(const Rewriting& r) {
  const DType t = working_dtype(r.from, r.op);
  if (is_float(t)) return {};
  const Expr x = r.operand(0);
  const auto zero = [&] { return number(r, 0, x.dtype()); };
  switch (r.op.code) {
    case OpCode::abs:
      return kiln::info(t).cls != DTypeClass::signed_int ? x.value() : maximum(x, subtract(zero(), x)).value();
    case OpCode::sign:
      return subtract(cast(x > zero(), t), cast(x < zero(), t)).value();
    case OpCode::square:
      return multiply(x, x).value();
    case OpCode::relu:
      return maximum(x, zero()).value();
    case OpCode::add:
      return t == DType::bool_ ? std::optional(logical_or(x, r.operand(1)).value()) : std::nullopt;
    case OpCode::multiply:
      return t == DType::bool_ ? std::optional(logical_and(x, r.operand(1)).value()) : std::nullopt;
    default:
      return {};
  }
}

std::optional<Value> elementwise(const Rewriting& r) {
  if (const auto v = elementwise_of_integers(r)) return v;
  if (info(r.op.code).lowering.kind != Lowering::Kind::made) return {};
  switch (r.op.code) {
#define made(how) return way_##how(r).value();
#define alu(op) return {};
#define act(fn) return {};
#define KILN_UNARY(name, result, floats, integers, lowering, meaning) \
  case OpCode::name:                                                  \
    lowering
#define KILN_BINARY(name, result, floats, integers, lowering, meaning) \
  case OpCode::name:                                                   \
    lowering
#include "kiln/tensor/ir/ops.def"
#undef made
#undef alu
#undef act
    default:
      return {};
  }
}

std::int64_t reduced_count(const Rewriting& r) {
  std::int64_t n = 1;
  for (std::int64_t a : r.op.ints("axes")) n *= r.operand(0).shape()[a];
  return n;
}

Expr kept(OpCode code, const Here& x, const Ints& axes) { return apply(code, {x}, {axes, true}, x.at); }

// How many columns stand beside each other on a partition while they are searched, by the time that DMAs and the vector
// engine take; 0: they do not fit, or leave partitions idle.
std::int64_t columns_beside(std::int64_t rows, std::int64_t n, std::int64_t behind, std::int64_t bytes) {
  constexpr std::int64_t kPartitions = 128, kMostBytes = 49152, kShortestRun = 128;
  constexpr double kElementNs = 2, kRunNs = 7.5, kByteNs = 1 / 23.0, kPartitionsOfEngine = 8;
  std::int64_t best = 0;
  double least = 0;
  for (std::int64_t w : divisors(behind)) {
    const std::int64_t lines = rows * (behind / w), blocks = (lines + kPartitions - 1) / kPartitions;
    if (w * bytes < kShortestRun || w * n * bytes > kMostBytes || lines < kPartitions) continue;
    const double computed = static_cast<double>(blocks * w * n) * kElementNs;
    const double moved = static_cast<double>(lines * n) / kPartitions * kPartitionsOfEngine *
                         (kRunNs + static_cast<double>(w * bytes) * kByteNs);
    const double ns = std::max(computed, moved) + std::min(computed, moved) / static_cast<double>(blocks);
    if (best == 0 || ns < least) best = w, least = ns;
  }
  return best;
}

// Columns as they stand, some on each partition.
std::optional<Value> search_beside(const Rewriting& r, const Expr& x, std::int64_t before, std::int64_t n,
                                   std::int64_t behind) {
  const std::int64_t w = columns_beside(before, n, behind, size_bytes(x.dtype()));
  if (w == 0) return {};
  const Expr seen = transpose(reshape(x, {before, n, behind / w, w}), {0, 2, 1, 3});
  return reshape(kept(r.op.code, seen, {2}), r.op.type.shape).value();
}

// argmax and argmin along an axis that is not the last: floats are turned on their way to the chip, which costs less
// than steps over elements that lie apart.
std::optional<Value> turned_search(const Rewriting& r, const Expr& x, const Ints& axes) {
  constexpr std::int64_t kFewest = 8, kLongest = 1 << 14;
  const auto at = static_cast<std::size_t>(axes[0]);
  const std::int64_t n = x.shape()[at], behind = product(x.shape(), at + 1, x.shape().size());
  if (axes.size() != 1 || !is_float(x.dtype()) || size_bytes(x.dtype()) < 2) return {};
  if (n < kFewest || n > kLongest || behind < kFewest) return {};
  const std::int64_t before = product(x.shape(), 0, at);
  if (const auto beside = search_beside(r, x, before, n, behind)) return beside;
  const Expr turned = transpose(reshape(x, {before, n, behind}), {0, 2, 1});
  return reshape(kept(r.op.code, turned, {2}), r.op.type.shape).value();
}

// Few long lines of what lies in HBM: each in parts, so that all partitions search, and then of these the first with
// the best.
std::optional<Value> search_in_parts(const Rewriting& r, const Expr& x) {
  constexpr std::int64_t kFewLines = 64, kLongLine = 4096, kPartitions = 128;
  const std::int64_t n = x.shape().back(), rows = x.type().size() / n;
  const OpCode made_by = r.operand_op(0).code;
  if (rows >= kFewLines || n < kLongLine || (made_by != OpCode::input && !is_view(made_by))) return {};
  std::int64_t parts = 1;
  for (std::int64_t p : divisors(n)) {
    if (p * rows <= kPartitions) parts = std::max(parts, p);
  }
  if (parts < 2) return {};
  const std::int64_t width = n / parts;
  const Expr cut = reshape(x, {rows, parts, width});
  std::vector<double> starts;
  for (std::int64_t p = 0; p < parts; ++p) starts.push_back(static_cast<double>(p * width));
  const Expr start(r.to, r.to.constant({DType::float32, {1, parts, 1}}, starts));
  const Expr best = kept(r.op.code == OpCode::argmax ? OpCode::max : OpCode::min, cut, {2});
  const Expr places = reshape(cast(kept(r.op.code, cut, {2}), DType::float32) + start, {rows, parts});
  const Expr which = cast(kept(r.op.code, reshape(best, {rows, parts}), {1}), DType::uint32);
  return reshape(cast(take_along_axis(places, which, -1), DType::int32), r.op.type.shape).value();
}

// A search along the last axis is one op that looks at all elements once. Nothing: it is that op already.
std::optional<Value> search_of_floats(const Rewriting& r, const Expr& x, const Ints& axes) {
  if (const auto parts = search_in_parts(r, x)) return parts;
  const Expr wide = size_bytes(x.dtype()) == 1 ? cast(x, DType::bfloat16) : x;
  if (r.op.flag("keepdims") && wide.value() == x.value()) return {};
  return reshape(kept(r.op.code, wide, axes), r.op.type.shape).value();
}

constexpr std::int64_t kManyToAdd = 512, kManyColumns = 128;  // sums of columns that the tensor engine takes

// The sums of columns that lie in HBM anyway: a product with ones, which reads rows as they come. Each column meets
// itself alone, so that what is no number stays where it is.
std::optional<Value> sum_of_columns(const Rewriting& r) {
  const Ints& axes = r.op.ints("axes");
  Expr x = r.operand(0);
  if (r.op.code != OpCode::sum || !is_float(x.dtype()) || axes.back() + 1 != static_cast<std::int64_t>(axes.size()))
    return {};
  if (const Op& op = r.to.op(x.value()); op.code == OpCode::cast) {
    const Expr before(r.to, op.operands[0]);
    if (is_float(before.dtype()) && size_bytes(before.dtype()) == 2) x = before;
  }
  const OpCode made_by = r.to.op(x.value()).code;
  if (made_by != OpCode::input && !is_product(made_by) && !adds_up_along_rows(r.to, x.value(), axes)) return {};
  const std::int64_t rows = reduced_count(r), columns = x.type().size() / std::max<std::int64_t>(1, rows);
  if (rows < kManyToAdd || columns < kManyColumns || size_bytes(x.dtype()) < 2) return {};
  const Value ones = r.to.constant({x.dtype(), {1, rows}}, {1.0});
  const OpCode code = x.dtype() == r.op.type.dtype ? OpCode::matmul : OpCode::matmul_f32;
  const Expr sums(r.to, r.to.add(code, {ones, reshape(x, {rows, columns}).value()}));
  return reshape(cast(sums, r.op.type.dtype), r.op.type.shape).value();
}

std::optional<Value> reduction(const Rewriting& r) {
  Expr x = r.operand(0);
  const Ints& axes = r.op.ints("axes");
  if (axes.empty()) return is_float(x.dtype()) ? std::optional(reshape(x, r.op.type.shape).value()) : std::nullopt;
  const auto n = static_cast<double>(reduced_count(r));
  Expr out = x;
  switch (r.op.code) {
    case OpCode::mean: {
      const Expr total = kept(OpCode::sum, wide(x), axes);  // as NumPy does: sums of many 16-bit floats overflow
      out = cast(total * number(r, 1 / n, DType::float32), r.op.type.dtype);
      break;
    }
    case OpCode::variance: {
      const Expr f = wide(x);
      const Expr total = kept(OpCode::sum, f, axes), centred = f - total * number(r, 1 / n, DType::float32);
      const double rest = std::max(0.0, n - static_cast<double>(r.op.integer("ddof")));
      const Expr squares = kept(OpCode::sum, square(centred), axes);
      out = cast(squares * number(r, 1 / rest, DType::float32), r.op.type.dtype);
      break;
    }
    case OpCode::any:
      out = kept(OpCode::max, not_equal(x, number(r, 0, x.dtype())), axes);
      break;
    case OpCode::all:
      out = kept(OpCode::min, not_equal(x, number(r, 0, x.dtype())), axes);
      break;
    case OpCode::argmax:
    case OpCode::argmin: {
      if (const auto turned = turned_search(r, x, axes)) return turned;
      Shape row(x.rank(), 1);
      row[axes[0]] = x.shape()[axes[0]];
      if (row[axes[0]] > (1 << 24)) not_yet(r, "argmax of more than 2^24 elements");
      if (is_float(x.dtype()) && axes.size() == 1 && axes[0] + 1 == x.rank()) return search_of_floats(r, x, axes);
      const Expr best = kept(r.op.code == OpCode::argmax ? OpCode::max : OpCode::min, x, axes);
      const Expr at(r.to, r.to.iota({DType::float32, row}, axes[0]));
      // NaN is its own maximum: it is the one that does not equal itself.
      const Expr hit = is_float(x.dtype()) ? logical_or(equal(x, best), not_equal(x, x)) : equal(x, best);
      out = cast(kept(OpCode::min, where(hit, at, static_cast<double>(1 << 25)), axes), DType::int32);
      break;
    }
    default:
      if (const auto v = sum_of_columns(r)) return v;
      if (const auto v = reordered_reduction(r)) return v;
      if (r.op.flag("keepdims")) return {};
      out = kept(r.op.code, x, axes);
  }
  return reshape(out, r.op.type.shape).value();
}

// Sums that broadcast to the product of x and y.
Expr as_product(const Rewriting& r, const Expr& x, const Expr& y, const Expr& sums) {
  const Shape a = x.shape(), b = y.shape();
  Shape whole = *broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  whole.insert(whole.end(), {a[a.size() - 2], b.back()});
  return reshape(broadcast_to(cast(sums, r.op.type.dtype), whole), r.op.type.shape);
}

// 8-bit floats in bfloat16, which holds all of them, where the tensor engine turns them.
DType turned_dtype(const Expr& x) { return size_bytes(x.dtype()) == 1 ? DType::bfloat16 : x.dtype(); }

// Whether a product of (m, k) and (k, 1) is a sum of products along rows: where no row of the result meets a second
// column, the tensor engine has to turn x and does nothing else. In 16 bits it turns as quickly as vectors multiply.
bool is_sum_of_rows(const Expr& x, const Expr& y, bool turned) {
  constexpr std::int64_t kLong = 4096, kManyRows = 256;
  const Shape &xs = x.shape(), &ys = y.shape();
  if (ys.back() != 1 || !is_float(x.dtype()) || size_bytes(x.dtype()) == 1) return false;
  const std::int64_t m = xs[xs.size() - 2], k = xs.back(), batches = product(ys, 0, ys.size() - 2);
  if (m == 1) return k >= kLong || (batches > 1 && product(xs, 0, xs.size() - 2) == batches);
  return x.dtype() == DType::float32 && !turned && batches == 1 && product(xs, 0, xs.size() - 1) >= kManyRows &&
         k >= kManyRows;
}

// A matrix as it lies in memory: of one whose rows are innermost there, the turned one.
struct Unturned {
  Expr matrix;
  bool turned;
};

Unturned unturned(const Expr& x) {
  const Op op = x.graph().op(x.value());  // a copy: adding ops moves them
  const std::int64_t rank = x.rank();
  if (op.code != OpCode::transpose || rank < 2) return {x, false};
  Ints perm = op.ints("perm");
  if (perm[rank - 2] != rank - 1) return {x, false};
  std::swap(perm[rank - 1], perm[rank - 2]);
  const Expr before(x.graph(), op.operands[0]);
  return {std::ranges::is_sorted(perm) ? before : transpose(before, perm), true};
}

// Whether x.T @ y, with few columns of y, is better computed as y.T @ x, which holds y and reads x as it lies.
bool is_better_turned(const Expr& x, const Expr& y) {
  constexpr std::int64_t kFewest = 8, kMany = 128;
  const Shape &xs = x.shape(), &ys = y.shape();
  return xs.size() == 2 && ys.size() == 2 && ys[1] <= kFewest && xs[0] >= kMany && xs[1] >= kMany;
}

// Whether nobody but an output wants what an op gives.
bool is_output_alone(const Rewriting& r) {
  const auto v = static_cast<Value>(&r.op - r.from.ops().data());
  const auto is_it = [&](const Output& o) { return o.value == v; };
  return std::ranges::count_if(r.from.outputs(), is_it) == 1 && r.from.uses()[v] == 1;
}

// Whether x @ y of a few blocks of rows, the last of which may be nearly empty, had better hold y and let x come by: a
// block of y takes as long to be held as so many rows to come by, and the result has to be turned.
bool is_better_held(const Rewriting& r, const Expr& x, const Expr& y) {
  constexpr std::int64_t kFewest = 128, kMost = 480, kRowsOfLoad = 233, kManyColumns = 1024;
  if (x.rank() != 2 || y.rank() != 2 || r.operand_op(0).code != OpCode::input ||
      r.operand_op(1).code != OpCode::input || !is_output_alone(r))
    return false;
  const std::int64_t m = x.shape()[0], k = x.shape()[1], n = y.shape()[1];
  if (m <= kFewest || m > kMost || n < kManyColumns || x.dtype() != r.op.type.dtype || x.dtype() != y.dtype())
    return false;
  const bool wide = size_bytes(x.dtype()) == 4;
  const std::int64_t blocks = (m + kFewest - 1) / kFewest;
  const double share = static_cast<double>(std::max(kRowsOfLoad, m)) / static_cast<double>(blocks * kFewest);
  return wide ? share < 0.92 && k >= 512 : share < 0.85 && k >= 2048;
}

// Batches of (m, k) with a column of their own, or of (k, n) with a row of their own: products along rows and their
// sums, of many batches at once, where the tensor engine would take one matrix after the other for one column.
std::optional<Expr> products_with_vectors(const Expr& x, const Expr& y) {
  constexpr double kBatchNs = 1200, kTurnNs = 400, kFloat32Passes = 3;
  const Shape &xs = x.shape(), &ys = y.shape();
  const bool column = ys.back() == 1, row = xs[xs.size() - 2] == 1;
  if (column == row || xs.size() != ys.size() || !is_float(x.dtype()) || size_bytes(x.dtype()) == 1) return {};
  const std::int64_t batches = product(ys, 0, ys.size() - 2), k = xs.back(), m = column ? xs[xs.size() - 2] : ys.back();
  if (batches < 2 || !std::equal(xs.begin(), xs.end() - 2, ys.begin())) return {};
  const auto blocks = static_cast<double>(((m + 127) / 128) * ((k + 127) / 128)), n = static_cast<double>(batches);
  const double vector = 2 * n * static_cast<double>(m * k) / 128;
  const double tensor = n * (kBatchNs + blocks * kTurnNs * (x.dtype() == DType::float32 ? kFloat32Passes : 1));
  if (vector > tensor / 2) return {};
  const auto [matrix, turned] = unturned(column ? x : y);
  const bool along_rows = turned != column;  // the sum is over the last dimension
  const Expr other = column ? y : x;
  const std::int64_t rank = x.rank();
  const Expr products = wide(matrix) * wide(along_rows == column ? transpose(other) : other);
  const Expr sums = kept(OpCode::sum, products, {along_rows ? rank - 1 : rank - 2});
  return turned ? transpose(sums) : sums;
}

// Two or more dimensions on both sides, and batches of x as the result has them; those of y are the same or broadcast.
std::optional<Value> product_of_matrices(const Rewriting& r) {
  Expr x = r.operand(0), y = r.operand(1);
  const DType t = r.op.type.dtype;
  if (!is_float(t)) return product_of_integers(r).value();
  const bool mixed = r.op.code == OpCode::matmul_f32;
  x = cast(x, mixed ? turned_dtype(x) : t);  // rows of x are turned, and so is y where its columns are rows of HBM
  y = cast(y, mixed ? (is_view(r.operand_op(1).code) ? turned_dtype(y) : y.dtype()) : t);
  const auto matmul = [&](const Expr& a, const Expr& b) {
    return Expr(r.to, r.to.add(r.op.code, {a.value(), b.value()}));
  };
  if (x.rank() == 1) x = reshape(x, {1, x.shape()[0]});
  if (y.rank() == 1) y = reshape(y, {y.shape()[0], 1});
  if (const auto c = splat_of(r.to, y.value())) {  // all columns are the same
    const Expr rows = kept(OpCode::sum, wide(x), {static_cast<std::int64_t>(x.rank()) - 1}) * *c;
    return as_product(r, x, y, rows).value();
  }
  const bool adds_columns =
      x.rank() == 2 && y.rank() == 2 && x.shape()[0] == 1 && x.shape()[1] >= kManyToAdd && y.shape()[1] >= kManyColumns;
  if (const auto c = splat_of(r.to, x.value()); c && !adds_columns) {
    const Expr columns = kept(OpCode::sum, wide(y), {static_cast<std::int64_t>(y.rank()) - 2}) * *c;
    return as_product(r, x, y, columns).value();
  }
  if (const auto turned = unturned(x); turned.turned && is_better_turned(x, y))
    return reshape(transpose(matmul(transpose(y), turned.matrix)), r.op.type.shape).value();
  if (is_better_held(r, x, y)) return reshape(transpose(matmul(transpose(y), transpose(x))), r.op.type.shape).value();
  if (is_sum_of_rows(x, y, r.operand_op(0).code == OpCode::transpose)) {
    const Expr rows = wide(x) * wide(transpose(y));
    return as_product(r, x, y, kept(OpCode::sum, rows, {static_cast<std::int64_t>(rows.rank()) - 1})).value();
  }
  if (const auto sums = products_with_vectors(x, y)) return as_product(r, x, y, *sums).value();
  if (const auto sums = sums_by_column(x, y)) return reshape(cast(*sums, t), r.op.type.shape).value();
  const Shape ys = y.shape();
  const bool one_y = product(ys, 0, ys.size() - 2) == 1;
  const std::int64_t m = x.shape()[x.rank() - 2], k = x.shape().back(), n = ys.back();
  Expr out = x;
  if (one_y) {  // every row of x meets the same matrix
    out = matmul(x, reshape(y, {k, n}));
  } else {
    const auto batch = *broadcast(Shape(x.shape().begin(), x.shape().end() - 2), Shape(ys.begin(), ys.end() - 2));
    Shape xb = batch, yb = batch;
    xb.insert(xb.end(), {m, k});
    yb.insert(yb.end(), {k, n});
    out = matmul(broadcast_to(x, xb), broadcast_to(y, yb));
  }
  return reshape(out, r.op.type.shape).value();
}

std::optional<Value> border(const Rewriting& r) {
  Expr x = r.operand(0);
  for (int d = x.rank(); d-- > 0;) {  // the last dimension while rows are on the chip
    std::vector<Expr> parts;
    const auto add = [&](std::int64_t n) {
      Shape shape = x.shape();
      shape[d] = n;
      if (n > 0) parts.emplace_back(r.to, r.to.constant({x.dtype(), shape}, {r.op.real("value")}));
    };
    add(r.op.ints("low")[d]);
    if (x.shape()[d] > 0) parts.push_back(x);
    add(r.op.ints("high")[d]);
    if (parts.size() > 1 || x.shape()[d] == 0) x = concat(parts, d);
  }
  return x.value();
}

// What x rounds to the nearest integer, seen through limits that are integers: the conversion of the chip rounds so.
std::optional<Value> before_rounding(Graph& g, Value x) {
  const Op op = g.op(x);  // a copy: adding ops moves them
  if (op.code == OpCode::rint) return op.operands[0];
  if (op.code != OpCode::maximum && op.code != OpCode::minimum) return {};
  for (int i : {0, 1}) {
    const auto limit = splat_of(g, op.operands[i]);
    if (!limit || *limit != std::rint(*limit) || !(g.type(op.operands[1 - i]) == op.type)) continue;
    const auto before = before_rounding(g, op.operands[1 - i]);
    if (!before) return {};
    return g.add(op.code, {*before, g.constant({g.type(*before).dtype, {}}, {*limit})});
  }
  return {};
}

// Floats lose their fraction as in NumPy, where the chip would round; truth is being nonzero.
std::optional<Value> conversion(const Rewriting& r) {
  const Expr x = r.operand(0);
  const DType to = r.op.type.dtype;
  if (to == DType::bool_) return not_equal(x, number(r, 0, x.dtype())).value();
  if (is_integer(to) && is_float(x.dtype())) {
    if (const auto whole = before_rounding(r.to, x.value())) return cast(wide(Expr(r.to, *whole)), to).value();
    return cast(toward_zero(wide(x)), to).value();
  }
  // Negative numbers wrap: the bits of the signed dtype that is as wide.
  const auto is = [](DType t, DTypeClass cls) { return kiln::info(t).cls == cls; };
  const bool wraps = is(x.dtype(), DTypeClass::signed_int) && is(to, DTypeClass::unsigned_int);
  if (wraps && size_bytes(to) > size_bytes(x.dtype()))
    return cast(cast(x, size_bytes(to) == 4 ? DType::int32 : DType::int16), to).value();
  return {};
}

bool is_reduction(OpCode code) { return code >= OpCode::sum && code <= OpCode::argmin; }

}  // namespace

Graph decompose(const Graph& graph) {
  constexpr int kMostRounds = 8;  // what ways make may itself be taken apart: until nothing changes
  Graph out = graph;
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    out = rebuilt(out, [&](const Rewriting& r) -> std::optional<Value> {
      std::optional<Value> v = sum_of_products(r);
      if (v) return changed = true, v;
      if (is_elementwise(r.op.code) &&
          !(r.op.code == OpCode::rint && round == 0 && of_floats(r)))  // casts see it first
        v = elementwise(r);
      else if (is_reduction(r.op.code))
        v = reduction(r);
      else if (is_product(r.op.code) && round <= 1)
        v = product_of_matrices(r);
      else if (r.op.code == OpCode::cast && round == 0)
        v = conversion(r);
      else if (r.op.code == OpCode::pad)
        v = border(r);
      changed =
          changed || r.op.code == OpCode::rint || (v && (is_reduction(r.op.code) || r.to.op(*v).code != r.op.code));
      return v;
    });
    if (!changed) break;
  }
  return without_dead_ops(out);
}

}  // namespace kiln::tensor
