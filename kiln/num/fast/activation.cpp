#include <cstring>
#include <limits>

#include "kiln/num/activation_coefficients.h"
#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DV = hn::ScalableTag<double>;
using DU = hn::RebindToUnsigned<DV>;
using DHalf = hn::Rebind<float, DV>;  // as many float32 as there are doubles in a vector
using F = hn::VFromD<DF>;
using V = hn::VFromD<DV>;
using U = hn::VFromD<DU>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

#define KILN_INLINE HWY_INLINE
KILN_INLINE V set(double c) { return hn::Set(DV(), c); }
KILN_INLINE F set_f(float c) { return hn::Set(DF(), c); }
KILN_INLINE V fma(V a, V b, V c) { return hn::MulAdd(a, b, c); }
KILN_INLINE V min(V c, V x) { return hn::Min(c, x); }
KILN_INLINE V max(V c, V x) { return hn::Max(c, x); }
KILN_INLINE V copy_sign(V magnitude, V sign) { return hn::CopySign(magnitude, sign); }
template <class T>
KILN_INLINE T abs_of(T x) {
  return hn::Abs(x);
}
template <class T>
KILN_INLINE T sqrt_of(T x) {
  return hn::Sqrt(x);
}
template <class M, class T>
KILN_INLINE T select(M condition, T yes, T no) {
  return hn::IfThenElse(condition, yes, no);
}
KILN_INLINE U bits(V x) { return hn::BitCast(DU(), x); }
KILN_INLINE V from_bits(U x) { return hn::BitCast(DV(), x); }
KILN_INLINE U shift_left_52(U x) { return hn::ShiftLeft<52>(x); }
KILN_INLINE U shift_right_52(U x) { return hn::ShiftRight<52>(x); }

#include "kiln/num/activation_math.inc"

struct Row {
  const float* x;
  float scale, bias, param;
  float* out;
  std::size_t n;
};

// step(x, out) for each block of kBlock elements; the last one goes through a buffer.
template <std::size_t kBlock, class Step>
KILN_INLINE void for_blocks(const Row& row, Step step) {
  std::size_t i = 0;
  for (; i + kBlock <= row.n; i += kBlock) step(row.x + i, row.out + i);
  if (i == row.n) return;
  float buffer[kBlock] = {};
  std::memcpy(buffer, row.x + i, (row.n - i) * sizeof(float));
  step(buffer, buffer);
  std::memcpy(row.out + i, buffer, (row.n - i) * sizeof(float));
}

template <F (*kFn)(F, F)>
void map(const Row& row) {
  const DF d;
  const F scale = set_f(row.scale), bias = set_f(row.bias), param = set_f(row.param);
  for_blocks<hn::MaxLanes(d)>(row, [=](const float* x, float* out) HWY_ATTR {
    hn::StoreU(kFn(hn::LoadU(d, x) * scale + bias, param), d, out);
  });
}

// Two vectors at a time, so that the chains of one fill the gaps of the other.
template <V (*kFn)(V)>
void map(const Row& row) {
  constexpr DHalf d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const auto scale = hn::Set(d, row.scale), bias = hn::Set(d, row.bias);
  for_blocks<2 * kLanes>(row, [=](const float* x, float* out) HWY_ATTR {
    const V a = kFn(hn::PromoteTo(DV(), hn::LoadU(d, x) * scale + bias));
    const V b = kFn(hn::PromoteTo(DV(), hn::LoadU(d, x + kLanes) * scale + bias));
    hn::StoreU(hn::DemoteTo(d, a), d, out);
    hn::StoreU(hn::DemoteTo(d, b), d, out + kLanes);
  });
}

void run(ActFn fn, const Row& row) {
  switch (fn) {
#define KILN_ACTIVATION(name, ...) \
  case ActFn::name: return map<act::name>(row);
#include "kiln/num/activations.def"
#undef KILN_ACTIVATION
  }
}

}  // namespace

void scaled_activation(ActFn fn, const float* x, float scale, float bias, float param, float* out,
                       std::size_t n) {
  run(fn, Row{x, scale, bias, param, out, n});
}
#undef KILN_INLINE

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(scaled_activation);

void scaled_activation(ActFn fn, const float* x, float scale, float bias, float param, float* out,
                       std::size_t n) {
  HWY_DYNAMIC_DISPATCH(scaled_activation)(fn, x, scale, bias, param, out, n);
}

void activation(ActFn fn, const float* x, float param, float* out, std::size_t n) {
  if (fn == ActFn::copy) {
    if (n > 0) std::memmove(out, x, n * sizeof(float));
    return;
  }
  // x * 1 + -0 is x for every x, zeros included.
  scaled_activation(fn, x, 1.0f, -0.0f, param, out, n);
}

}  // namespace kiln::fast
#endif
