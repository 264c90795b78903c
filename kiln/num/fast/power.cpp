// x to the power y. The definition rounds std::pow of doubles to float32. Here a double that is nearly as good is
// rounded; where that could round otherwise, next to the middle between two floats, and for what has no logarithm,
// std::pow is asked after all.
#include "kiln/num/fast/power.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/power.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/activation_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DoubleVector = hn::VFromD<DV>;
using DoubleMask = hn::Mask<DV>;
constexpr std::size_t kHalf = hn::MaxLanes(DV()), kBlock = 2 * kHalf;

// |x|^y and where it is in doubt.
struct Estimate {
  V value;
  Pair<DoubleMask> in_doubt;
};

// Nothing from here to 2^125.5 and back is infinite or subnormal as float32.
constexpr double kMostExponent = 87.0;
// The logarithm, its product with y and the exponential are off by 2^-44 of the result together. A float32 leaves 29
// bits of a double out, and the middle between two is the highest of them.
constexpr std::uint64_t kLeftOut = (std::uint64_t{1} << 29) - 1, kMiddle = std::uint64_t{1} << 28,
                        kDoubt = std::uint64_t{1} << 12;

HWY_INLINE DoubleMask is_doubtful(DoubleVector base, DoubleVector exponent, DoubleVector value) {
  const DV d;
  const DU du;
  const auto left_out = hn::And(hn::Sub(hn::BitCast(du, value), hn::Set(du, kMiddle - kDoubt)), hn::Set(du, kLeftOut));
  const auto is_near = hn::RebindMask(d, hn::Lt(left_out, hn::Set(du, 2 * kDoubt)));
  const auto is_plain = hn::And(hn::And(hn::Gt(base, hn::Zero(d)), hn::Lt(base, hn::Set(d, kInf))),
                                hn::Lt(hn::Abs(exponent), hn::Set(d, kMostExponent)));
  return hn::Or(is_near, hn::Not(is_plain));
}

HWY_INLINE Estimate estimate(V base, V y) {
  const V exponent = y * act::log(base);
  const V value = exp_of(clamp(kMostExponent, exponent));
  return {value, {is_doubtful(base.a, exponent.a, value.a), is_doubtful(base.b, exponent.b, value.b)}};
}

// Zeros and negative numbers: `value` is that of |x|, and loses its doubt for a zero.
HWY_INLINE DoubleVector with_sign(DoubleVector x, DoubleVector y, DoubleVector value, DoubleMask& in_doubt) {
  const DV d;
  const auto zero = hn::Zero(d), half = hn::Mul(y, hn::Set(d, 0.5));
  const auto is_whole = hn::Eq(y, hn::Round(y)), is_odd = hn::AndNot(hn::Eq(half, hn::Round(half)), is_whole);
  const auto becomes_zero = hn::And(hn::Eq(x, zero), hn::Gt(y, zero));
  in_doubt = hn::Or(hn::AndNot(becomes_zero, in_doubt), hn::AndNot(is_whole, hn::Lt(x, zero)));
  const auto magnitude = hn::IfThenZeroElse(becomes_zero, value);
  return hn::IfThenElse(is_odd, hn::CopySign(magnitude, x), magnitude);
}

// kBlock elements; `out` may be x or y.
HWY_INLINE void power_block(hn::VFromD<DHalf> x_low, hn::VFromD<DHalf> x_high, hn::VFromD<DHalf> y_low,
                            hn::VFromD<DHalf> y_high, float* out) {
  const DHalf d;
  const V x{hn::PromoteTo(DV(), x_low), hn::PromoteTo(DV(), x_high)};
  const V y{hn::PromoteTo(DV(), y_low), hn::PromoteTo(DV(), y_high)};
  Estimate e = estimate(abs_of(x), y);
  const auto is_usual = [](DoubleVector v, DoubleMask in_doubt)
                            HWY_ATTR { return hn::AllFalse(DV(), hn::Or(in_doubt, hn::Lt(v, hn::Zero(DV())))); };
  if (HWY_LIKELY(is_usual(x.a, e.in_doubt.a) && is_usual(x.b, e.in_doubt.b))) {
    hn::StoreU(hn::DemoteTo(d, e.value.a), d, out);
    hn::StoreU(hn::DemoteTo(d, e.value.b), d, out + kHalf);
    return;
  }
  e.value = {with_sign(x.a, y.a, e.value.a, e.in_doubt.a), with_sign(x.b, y.b, e.value.b, e.in_doubt.b)};
  hn::StoreU(hn::DemoteTo(d, e.value.a), d, out);
  hn::StoreU(hn::DemoteTo(d, e.value.b), d, out + kHalf);
  alignas(64) double bases[kBlock], exponents[kBlock], doubts[kBlock];
  const auto keep = [](V from, double* to) HWY_ATTR {
    hn::Store(from.a, DV(), to);
    hn::Store(from.b, DV(), to + kHalf);
  };
  const auto one = hn::Set(DV(), 1.0);
  keep(x, bases);
  keep(y, exponents);
  keep({hn::IfThenElseZero(e.in_doubt.a, one), hn::IfThenElseZero(e.in_doubt.b, one)}, doubts);
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (doubts[i] != 0) out[i] = static_cast<float>(std::pow(bases[i], exponents[i]));
  }
}

struct PowerRow {
  const float* data;
  bool one;  // the first stands for all
  HWY_INLINE hn::VFromD<DHalf> get(std::size_t i) const {
    return one ? hn::Set(DHalf(), *data) : hn::LoadU(DHalf(), data + i);
  }
  // The elements from `first` on, and ones.
  PowerRow rest(std::size_t first, std::size_t n, float* buffer) const {
    if (one) return *this;
    std::fill_n(buffer, kBlock, 1.0f);
    std::copy(data + first, data + n, buffer);
    return {buffer, false};
  }
};

void power_row(PowerRow x, PowerRow y, float* out, std::size_t n) {
  // One number may lie where results go.
  const float first_x = *x.data, first_y = *y.data;
  if (x.one) x.data = &first_x;
  if (y.one) y.data = &first_y;
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) power_block(x.get(i), x.get(i + kHalf), y.get(i), y.get(i + kHalf), out + i);
  if (i == n) return;
  float bases[kBlock], exponents[kBlock], results[kBlock];
  const PowerRow last_x = x.rest(i, n, bases), last_y = y.rest(i, n, exponents);
  power_block(last_x.get(0), last_x.get(kHalf), last_y.get(0), last_y.get(kHalf), results);
  std::copy_n(results, n - i, out + i);
}

}  // namespace

void power_rows(const FloatRows& x, const FloatRows& y, float* out, std::ptrdiff_t out_step, std::size_t rows,
                std::size_t n) {
  for (std::size_t r = 0; r < rows && n > 0; ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r);
    power_row({x.data + row * x.step, x.one}, {y.data + row * y.step, y.one}, out + row * out_step, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(power_rows);

void power_rows(const FloatRows& x, const FloatRows& y, float* out, std::ptrdiff_t out_step, std::size_t rows,
                std::size_t n) {
  HWY_DYNAMIC_DISPATCH(power_rows)(x, y, out, out_step, rows, n);
}

}  // namespace kiln::fast
#endif
