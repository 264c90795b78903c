// The activation functions on vectors: what activation_math.inc asks for, and its functions. Included once for each
// target.
#if defined(KILN_NUM_FAST_ACTIVATION_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_ACTIVATION_VECTORS_INL_H_
#undef KILN_NUM_FAST_ACTIVATION_VECTORS_INL_H_
#else
#define KILN_NUM_FAST_ACTIVATION_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "kiln/num/activation_coefficients.h"

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
KILN_INLINE F min(F c, F x) { return hn::Min(c, x); }
KILN_INLINE F max(F c, F x) { return hn::Max(c, x); }
KILN_INLINE F with_sign(F magnitude, F sign) { return hn::CopySignToAbs(magnitude, sign); }
KILN_INLINE F times_sign(F x, F sign) { return hn::Xor(x, hn::And(sign, hn::SignBit(DF()))); }
KILN_INLINE F sqrt_of(F x) { return hn::Sqrt(x); }
template <class M>
KILN_INLINE F select(M condition, F yes, F no) {
  return hn::IfThenElse(condition, yes, no);
}

KILN_INLINE V set(double c) { return {hn::Set(DV(), c), hn::Set(DV(), c)}; }
KILN_INLINE V wide(F x) {
  constexpr DV d;
  constexpr DHalf half;
  return {hn::PromoteTo(d, hn::LowerHalf(half, x)), hn::PromoteTo(d, hn::UpperHalf(half, x))};
}
KILN_INLINE F rounded(V x) {
  constexpr DHalf half;
  return hn::Combine(DF(), hn::DemoteTo(half, x.b), hn::DemoteTo(half, x.a));
}
KILN_INLINE V abs_of(V x) { return {hn::Abs(x.a), hn::Abs(x.b)}; }
KILN_INLINE V sqrt_of(V x) { return {hn::Sqrt(x.a), hn::Sqrt(x.b)}; }
KILN_INLINE V fma(V x, V y, V z) { return {hn::MulAdd(x.a, y.a, z.a), hn::MulAdd(x.b, y.b, z.b)}; }
KILN_INLINE V fma_less(V x, V y, V z) { return {hn::MulSub(x.a, y.a, z.a), hn::MulSub(x.b, y.b, z.b)}; }
KILN_INLINE V minus_fma(V x, V y, V z) { return {hn::NegMulSub(x.a, y.a, z.a), hn::NegMulSub(x.b, y.b, z.b)}; }
KILN_INLINE V min(V c, V x) { return {hn::Min(c.a, x.a), hn::Min(c.b, x.b)}; }
KILN_INLINE V max(V c, V x) { return {hn::Max(c.a, x.a), hn::Max(c.b, x.b)}; }
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
  if constexpr (hn::MaxLanes(d) == 8 && !HWY_IS_DEBUG_BUILD) {  // which looks at three bits alone
    return hn::TableLookupLanes(hn::LoadU(d, kEighthPowers), hn::IndicesFromVec(d, index));
  } else if constexpr (hn::MaxLanes(d) == 8) {
    return hn::TableLookupLanes(hn::LoadU(d, kEighthPowers), hn::IndicesFromVec(d, index & hn::Set(d, 7)));
  } else {
    return hn::GatherIndex(d, kEighthPowers, hn::BitCast(hn::RebindToSigned<DU>(), index & hn::Set(d, 7)));
  }
}
KILN_INLINE U eighth_power(U index) { return {eighth_power(index.a), eighth_power(index.b)}; }

#include "kiln/num/activation_math.inc"
#undef KILN_INLINE

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
