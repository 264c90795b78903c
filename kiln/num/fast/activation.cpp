#include <algorithm>
#include <cstring>
#include <limits>

#include "kiln/num/activation_coefficients.h"
#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/magnitude-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DV = hn::ScalableTag<double>;
using DU = hn::RebindToUnsigned<DV>;
using DHalf = hn::Rebind<float, DV>;  // as many float32 as there are doubles in a vector
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
#define KILN_INLINE HWY_INLINE

// Two vectors in step, so that the chain of dependent operations of one fills the gaps of the other.
template <class T>
struct Pair {
  T a, b;
};
#define KILN_PAIRWISE(op)                                      \
  template <class T>                                           \
  KILN_INLINE auto operator op(Pair<T> x, Pair<T> y) {         \
    return Pair<decltype(x.a op y.a)>{x.a op y.a, x.b op y.b}; \
  }
KILN_PAIRWISE(+)
KILN_PAIRWISE(-)
KILN_PAIRWISE(*)
KILN_PAIRWISE(/)
KILN_PAIRWISE(|)
KILN_PAIRWISE(<)
KILN_PAIRWISE(>)
KILN_PAIRWISE(==)
#undef KILN_PAIRWISE

using F = hn::VFromD<DF>;
using V = Pair<hn::VFromD<DV>>;
using U = Pair<hn::VFromD<DU>>;

KILN_INLINE F set_f(float c) { return hn::Set(DF(), c); }
KILN_INLINE F abs_of(F x) { return hn::Abs(x); }
KILN_INLINE F sqrt_of(F x) { return hn::Sqrt(x); }
template <class M>
KILN_INLINE F select(M condition, F yes, F no) {
  return hn::IfThenElse(condition, yes, no);
}

KILN_INLINE V set(double c) { return {hn::Set(DV(), c), hn::Set(DV(), c)}; }
KILN_INLINE V abs_of(V x) { return {hn::Abs(x.a), hn::Abs(x.b)}; }
KILN_INLINE V sqrt_of(V x) { return {hn::Sqrt(x.a), hn::Sqrt(x.b)}; }
KILN_INLINE V fma(V x, V y, V z) { return {hn::MulAdd(x.a, y.a, z.a), hn::MulAdd(x.b, y.b, z.b)}; }
KILN_INLINE V min(V c, V x) { return {hn::Min(c.a, x.a), hn::Min(c.b, x.b)}; }
KILN_INLINE V max(V c, V x) { return {hn::Max(c.a, x.a), hn::Max(c.b, x.b)}; }
KILN_INLINE V copy_sign(V x, V sign) { return {hn::CopySign(x.a, sign.a), hn::CopySign(x.b, sign.b)}; }
template <class M>
KILN_INLINE V select(Pair<M> condition, V yes, V no) {
  return {hn::IfThenElse(condition.a, yes.a, no.a), hn::IfThenElse(condition.b, yes.b, no.b)};
}
KILN_INLINE U bits(V x) { return {hn::BitCast(DU(), x.a), hn::BitCast(DU(), x.b)}; }
KILN_INLINE V from_bits(U x) { return {hn::BitCast(DV(), x.a), hn::BitCast(DV(), x.b)}; }
template <int kBits>
KILN_INLINE U shift_left(U x) {
  return {hn::ShiftLeft<kBits>(x.a), hn::ShiftLeft<kBits>(x.b)};
}
template <int kBits>
KILN_INLINE U shift_right(U x) {
  return {hn::ShiftRight<kBits>(x.a), hn::ShiftRight<kBits>(x.b)};
}

// The entries of kEighthPowers chosen by the low three bits.
KILN_INLINE hn::VFromD<DU> eighth_power(hn::VFromD<DU> index) {
  constexpr DU d;
  const auto entry = index & hn::Set(d, 7);
  if constexpr (hn::MaxLanes(d) == 8) {
    return hn::TableLookupLanes(hn::LoadU(d, kEighthPowers), hn::IndicesFromVec(d, entry));
  } else {
    return hn::GatherIndex(d, kEighthPowers, hn::BitCast(hn::RebindToSigned<DU>(), entry));
  }
}
KILN_INLINE U eighth_power(U index) { return {eighth_power(index.a), eighth_power(index.b)}; }

#include "kiln/num/activation_math.inc"

constexpr std::uint32_t kNotTold = ~0u;

struct Row {
  const float* x;
  float scale, bias, param;
  float* out;
  std::size_t n;
};

// The elements after the last whole block go through a buffer, as one more block.
// The largest magnitude of all: `found` is that of the elements before.
template <std::size_t kBlock>
std::uint32_t finish(const Row& row, std::uint32_t (*map)(const Row&), std::size_t done, std::uint32_t found) {
  const std::size_t left = row.n - done;
  if (left == 0) return found;
  float buffer[kBlock] = {};
  std::memcpy(buffer, row.x + done, left * sizeof(float));
  map(Row{buffer, row.scale, row.bias, row.param, buffer, kBlock});
  std::memcpy(row.out + done, buffer, left * sizeof(float));
  std::fill(buffer + left, buffer + kBlock, 0.0f);
  Magnitude<DF> magnitude;
  for (std::size_t i = 0; i < kBlock; i += hn::MaxLanes(DF())) magnitude.add(hn::LoadU(DF(), buffer + i));
  return std::max(found, magnitude.largest());
}

template <F (*kFn)(F, F)>
HWY_NOINLINE std::uint32_t map(const Row& row) {
  constexpr DF d;
  constexpr std::size_t kBlock = hn::MaxLanes(d);
  const F scale = set_f(row.scale), bias = set_f(row.bias), param = set_f(row.param);
  Magnitude<DF> magnitude;
  std::size_t i = 0;
#pragma GCC unroll 2
  for (; i + kBlock <= row.n; i += kBlock) {
    const F y = kFn(hn::LoadU(d, row.x + i) * scale + bias, param);
    magnitude.add(y);
    hn::StoreU(y, d, row.out + i);
  }
  return finish<kBlock>(row, map<kFn>, i, magnitude.largest());
}

// These keep the processor so busy that to read the results again costs less than to look at them here.
template <V (*kFn)(V)>
HWY_NOINLINE std::uint32_t map(const Row& row) {
  constexpr DHalf d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const auto scale = hn::Set(d, row.scale), bias = hn::Set(d, row.bias);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= row.n; i += 2 * kLanes) {
    const auto low = hn::LoadU(d, row.x + i) * scale + bias;
    const auto high = hn::LoadU(d, row.x + i + kLanes) * scale + bias;
    const V y = kFn(V{hn::PromoteTo(DV(), low), hn::PromoteTo(DV(), high)});
    hn::StoreU(hn::DemoteTo(d, y.a), d, row.out + i);
    hn::StoreU(hn::DemoteTo(d, y.b), d, row.out + i + kLanes);
  }
  finish<2 * kLanes>(row, map<kFn>, i, 0);
  return kNotTold;
}

std::uint32_t run(ActFn fn, const Row& row) {
  switch (fn) {
#define KILN_ACTIVATION(name, ...) \
  case ActFn::name:                \
    return map<act::name>(row);
#include "kiln/num/activations.def"
#undef KILN_ACTIVATION
  }
  return 0;
}

}  // namespace

std::uint32_t scaled_activation(ActFn fn, const float* x, float scale, float bias, float param, float* out,
                                std::size_t n) {
  return run(fn, Row{x, scale, bias, param, out, n});
}
#undef KILN_INLINE

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(scaled_activation);

std::uint32_t scaled_activation(ActFn fn, const float* x, float scale, float bias, float param, float* out,
                                std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(scaled_activation)(fn, x, scale, bias, param, out, n);
}

std::uint32_t activation(ActFn fn, const float* x, float param, float* out, std::size_t n) {
  if (fn == ActFn::copy) {
    if (n > 0) std::memmove(out, x, n * sizeof(float));
    return largest(sizeof *out, out, 1, n);
  }
  // x * 1 + -0 is x for every x, zeros included.
  return scaled_activation(fn, x, 1.0f, -0.0f, param, out, n);
}

}  // namespace kiln::fast
#endif
