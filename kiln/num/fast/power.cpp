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
#include "kiln/num/fast/magnitude-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using FloatMask = hn::Mask<DF>;
using DoubleVector = hn::VFromD<DV>;
constexpr std::size_t kBlock = hn::MaxLanes(DF());

// e to the power of this and back is neither infinite nor subnormal as float32; results between the limits are those of
// smaller exponents.
constexpr double kMostExponent = 87.0;
constexpr float kLeast = 1.65e-38f, kMost = 6.07e37f;
// The logarithm, its product with y and the exponential are off by 2^-44 of the result together. A float32 leaves 29
// bits of a double out, and the middle between two is the highest of them.
constexpr std::uint64_t kLeftOut = (std::uint64_t{1} << 29) - 1, kMiddle = std::uint64_t{1} << 28,
                        kDoubt = std::uint64_t{1} << 12;

// Zero where a value is next to such a middle.
HWY_INLINE hn::VFromD<DU> distance(DoubleVector value) {
  constexpr DU d;
  const auto from_middle = hn::Add(hn::BitCast(d, value), hn::Set(d, kMiddle + kDoubt));
  return hn::And(from_middle, hn::Set(d, kLeftOut - (2 * kDoubt - 1)));
}

// |x|^y of a block, in three steps of about the same length. What is no positive number gives anything.
struct Begun {
  F x, y;
  Logarithm of_x;
  HWY_INLINE Begun(F x, F y) : x(x), y(y), of_x(logarithm(wide(abs_of(x)))) {}
};
struct Reduced {
  F x, y;
  Exponent e;
  explicit HWY_INLINE Reduced(const Begun& b) : x(b.x), y(b.y) {
    const V product = wide(y) * log_of(b.of_x);
    e = exponent(max(set(-kMostExponent), min(set(kMostExponent), product)));
  }
};
struct Estimate {
  F value;
  FloatMask in_range;
  hn::VFromD<DU> distance_a, distance_b;
  explicit HWY_INLINE Estimate(const Reduced& r) {
    const V power = exp_of(r.e);
    value = rounded(power);
    in_range = hn::And(value > set_f(kLeast), value < set_f(kMost));
    distance_a = distance(power.a), distance_b = distance(power.b);
  }
};

// Any x and y: zeros and negative numbers, and std::pow for those in doubt.
HWY_NOINLINE F corrected(F x, F y, const Estimate& e) {
  constexpr DF d;
  constexpr DU du;
  const F zero = hn::Zero(d), half = y * set_f(0.5f), size = abs_of(x);
  const auto is_whole = hn::Eq(y, hn::Round(y)), is_odd = hn::AndNot(hn::Eq(half, hn::Round(half)), is_whole);
  const auto becomes_zero = hn::And(x == zero, y > zero);
  const auto far = [](hn::VFromD<DU> distance) HWY_ATTR {
    return hn::IfThenZeroElse(hn::RebindMask(DV(), hn::Eq(distance, hn::Zero(du))), hn::Set(DV(), 1.0));
  };
  const auto is_far = rounded(V{far(e.distance_a), far(e.distance_b)}) > zero;
  const auto is_number = hn::And(size > zero, size < set_f(kInf));
  auto is_sure = hn::And(hn::And(is_far, e.in_range), is_number);
  is_sure = hn::And(is_sure, hn::Or(is_whole, x > zero));
  is_sure = hn::Or(is_sure, becomes_zero);
  const F value = hn::IfThenZeroElse(becomes_zero, e.value);
  alignas(64) float bases[kBlock], exponents[kBlock], results[kBlock], sure[kBlock];
  hn::Store(hn::IfThenElse(is_odd, hn::CopySign(value, x), value), d, results);
  hn::Store(hn::IfThenElseZero(is_sure, set_f(1)), d, sure);
  hn::Store(x, d, bases);
  hn::Store(y, d, exponents);
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (sure[i] == 0) results[i] = static_cast<float>(std::pow(double{bases[i]}, double{exponents[i]}));
  }
  return hn::Load(d, results);
}

HWY_INLINE F finished(const Reduced& r) {
  const Estimate e(r);
  const auto is_usual = hn::And(e.in_range, hn::And(r.x > hn::Zero(DF()), r.x < set_f(kInf)));
  const auto is_near = hn::Or(hn::Eq(e.distance_a, hn::Zero(DU())), hn::Eq(e.distance_b, hn::Zero(DU())));
  if (HWY_LIKELY(hn::AllTrue(DF(), is_usual) && hn::AllFalse(DU(), is_near))) return e.value;
  return corrected(r.x, r.y, e);
}

struct PowerRow {
  const float* data;
  bool one;  // the first stands for all
  HWY_INLINE F get(std::size_t i) const { return one ? hn::Set(DF(), *data) : hn::LoadU(DF(), data + i); }
  // The elements from `first` on, and ones.
  PowerRow rest(std::size_t first, std::size_t n, float* buffer) const {
    if (one) return *this;
    std::fill_n(buffer, kBlock, 1.0f);
    std::copy(data + first, data + n, buffer);
    return {buffer, false};
  }
};

// Returns the largest magnitude. A block begins before the ones before it end: what an element goes through takes
// longer than a processor looks ahead.
std::uint32_t power_row(PowerRow x, PowerRow y, float* out, std::size_t n) {
  constexpr DF d;
  // One number may lie where results go.
  const float first_x = *x.data, first_y = *y.data;
  if (x.one) x.data = &first_x;
  if (y.one) y.data = &first_y;
  Magnitude<DF> magnitude;
  std::size_t i = 0;
  if (n >= 2 * kBlock) {
    Begun begun(x.get(kBlock), y.get(kBlock));
    Reduced reduced{Begun(x.get(0), y.get(0))};
    for (; i + kBlock <= n; i += kBlock) {
      const std::size_t later = std::min(i + 2 * kBlock, n - kBlock);
      const Begun next(x.get(later), y.get(later));
      const Reduced after(begun);
      const F result = finished(reduced);
      magnitude.add(result);
      hn::StoreU(result, d, out + i);
      begun = next, reduced = after;
    }
  }
  for (; i < n; i += kBlock) {
    const std::size_t count = std::min(kBlock, n - i);
    float bases[kBlock], exponents[kBlock], results[kBlock];
    const PowerRow last_x = x.rest(i, i + count, bases), last_y = y.rest(i, i + count, exponents);
    const F result = finished(Reduced(Begun(last_x.get(0), last_y.get(0))));
    magnitude.add(result, count);
    hn::StoreU(result, d, results);
    std::copy_n(results, count, out + i);
  }
  return magnitude.largest();
}

}  // namespace

std::uint32_t power_rows(const FloatRows& x, const FloatRows& y, float* out, std::ptrdiff_t out_step, std::size_t rows,
                         std::size_t n) {
  std::uint32_t largest = 0;
  for (std::size_t r = 0; r < rows && n > 0; ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r);
    const PowerRow bases{x.data + row * x.step, x.one}, exponents{y.data + row * y.step, y.one};
    largest = std::max(largest, power_row(bases, exponents, out + row * out_step, n));
  }
  return largest;
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(power_rows);

std::uint32_t power_rows(const FloatRows& x, const FloatRows& y, float* out, std::ptrdiff_t out_step, std::size_t rows,
                         std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(power_rows)(x, y, out, out_step, rows, n);
}

}  // namespace kiln::fast
#endif
