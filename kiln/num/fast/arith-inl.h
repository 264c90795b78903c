// The ALU operators on vectors; included once for each target.
#if defined(KILN_NUM_FAST_ARITH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_ARITH_INL_H_
#undef KILN_NUM_FAST_ARITH_INL_H_
#else
#define KILN_NUM_FAST_ARITH_INL_H_
#endif

#include <hwy/highway.h>

#include "kiln/num/op.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V maximum(V x, V y) {
  // Equal values differ at most in the sign of zero, where AND prefers +0; `larger` is already y when y is
  // NaN.
  const V larger = hn::IfThenElse(hn::Gt(x, y), x, y);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Eq(x, y), hn::And(x, y), larger));
}

template <class V>
HWY_INLINE V minimum(V x, V y) {
  const V smaller = hn::IfThenElse(hn::Lt(x, y), x, y);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Eq(x, y), hn::Or(x, y), smaller));
}

template <class D, class V>
HWY_INLINE V rsqrt(D d, V x) {
  const hn::Repartition<double, D> d64;
  const hn::Half<D> half;
  const auto one = hn::Set(d64, 1.0);
  const auto lower = hn::Div(one, hn::Sqrt(hn::PromoteTo(d64, hn::LowerHalf(half, x))));
  const auto upper = hn::Div(one, hn::Sqrt(hn::PromoteTo(d64, hn::UpperHalf(half, x))));
  return hn::Combine(d, hn::DemoteTo(half, upper), hn::DemoteTo(half, lower));
}

// The operators that Arith has.
constexpr bool has_float(AluOp op, AluClass cls) {
  return cls != AluClass::bitvec && cls != AluClass::bitvec_unary && op != AluOp::power && op != AluOp::average;
}

// Highway's Ne is false for NaN, so "not equal" and "nonzero" are spelled as the absence of Eq.
template <AluOp kOp>
struct Arith {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V one = hn::Set(d, 1.0f), zero = hn::Zero(d);
    if constexpr (kOp == AluOp::add) return hn::Add(x, y);
    if constexpr (kOp == AluOp::subtract) return hn::Sub(x, y);
    if constexpr (kOp == AluOp::multiply) return hn::Mul(x, y);
    if constexpr (kOp == AluOp::maximum) return maximum(x, y);
    if constexpr (kOp == AluOp::minimum) return minimum(x, y);
    if constexpr (kOp == AluOp::equal) return hn::IfThenElseZero(hn::Eq(x, y), one);
    if constexpr (kOp == AluOp::not_equal) return hn::IfThenZeroElse(hn::Eq(x, y), one);
    if constexpr (kOp == AluOp::greater) return hn::IfThenElseZero(hn::Gt(x, y), one);
    if constexpr (kOp == AluOp::greater_equal) return hn::IfThenElseZero(hn::Ge(x, y), one);
    if constexpr (kOp == AluOp::less) return hn::IfThenElseZero(hn::Lt(x, y), one);
    if constexpr (kOp == AluOp::less_equal) return hn::IfThenElseZero(hn::Le(x, y), one);
    if constexpr (kOp == AluOp::logical_and) return hn::IfThenZeroElse(hn::Or(hn::Eq(x, zero), hn::Eq(y, zero)), one);
    if constexpr (kOp == AluOp::logical_or) return hn::IfThenZeroElse(hn::And(hn::Eq(x, zero), hn::Eq(y, zero)), one);
    if constexpr (kOp == AluOp::logical_xor) return hn::IfThenElseZero(hn::Xor(hn::Eq(x, zero), hn::Eq(y, zero)), one);
    if constexpr (kOp == AluOp::abs_max) return hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Abs(y)), x, y);
    if constexpr (kOp == AluOp::abs_min) return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Abs(y)), x, y);
    if constexpr (kOp == AluOp::abs) return hn::Abs(x);
    if constexpr (kOp == AluOp::square) return hn::Mul(x, x);
    if constexpr (kOp == AluOp::relu) return maximum(zero, x);
    if constexpr (kOp == AluOp::rsqrt) return rsqrt(d, x);
    if constexpr (kOp == AluOp::reciprocal) return hn::Div(one, x);
    return x;  // bypass
  }
};

template <AluOp kOp>
struct Bits {
  std::uint32_t width;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V mask = hn::Set(d, ~std::uint32_t{0} >> (32 - width)), limit = hn::Set(d, width);
    const V count = hn::And(y, hn::Set(d, 31u));
    if constexpr (kOp == AluOp::invert) return hn::AndNot(x, mask);
    if constexpr (kOp == AluOp::bitwise_and) return hn::And(hn::And(x, y), mask);
    if constexpr (kOp == AluOp::bitwise_or) return hn::And(hn::Or(x, y), mask);
    if constexpr (kOp == AluOp::bitwise_xor) return hn::And(hn::Xor(x, y), mask);
    if constexpr (kOp == AluOp::left_shift)
      return hn::IfThenElseZero(hn::Lt(y, limit), hn::And(hn::Shl(x, count), mask));
    if constexpr (kOp == AluOp::right_shift)
      return hn::IfThenElseZero(hn::Lt(y, limit), hn::And(hn::Shr(x, count), mask));
    return hn::And(x, mask);  // bypass
  }
};

// T is the signed or the unsigned reading of the bits.
template <AluOp kOp, class T>
struct Int {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const hn::Rebind<T, D> dt;
    const auto a = hn::BitCast(dt, x), b = hn::BitCast(dt, y);
    const auto one = hn::Set(dt, T{1});
    if constexpr (kOp == AluOp::add) return hn::Add(x, y);
    if constexpr (kOp == AluOp::subtract) return hn::Sub(x, y);
    if constexpr (kOp == AluOp::multiply) return hn::Mul(x, y);
    if constexpr (kOp == AluOp::maximum) return hn::BitCast(d, hn::Max(a, b));
    if constexpr (kOp == AluOp::minimum) return hn::BitCast(d, hn::Min(a, b));
    if constexpr (kOp == AluOp::equal) return hn::BitCast(d, hn::IfThenElseZero(hn::Eq(a, b), one));
    if constexpr (kOp == AluOp::not_equal) return hn::BitCast(d, hn::IfThenZeroElse(hn::Eq(a, b), one));
    if constexpr (kOp == AluOp::greater) return hn::BitCast(d, hn::IfThenElseZero(hn::Gt(a, b), one));
    if constexpr (kOp == AluOp::greater_equal) return hn::BitCast(d, hn::IfThenZeroElse(hn::Lt(a, b), one));
    if constexpr (kOp == AluOp::less) return hn::BitCast(d, hn::IfThenElseZero(hn::Lt(a, b), one));
    return hn::BitCast(d, hn::IfThenZeroElse(hn::Gt(a, b), one));  // less_equal
  }
};

// The bits of a floating-point number as an integer that has the order of its values, -0 before +0, and back. It has no
// place for NaN.
template <class I>
HWY_INLINE I in_order(I x) {
  const hn::DFromV<I> d;
  return hn::Xor(x, hn::And(hn::BroadcastSignBit(x), hn::Set(d, hwy::LimitsMax<hn::TFromV<I>>())));
}

// maximum and minimum of such bits.
template <AluOp kOp>
struct InOrder {
  template <class D, class I>
  HWY_INLINE I operator()(D, I x, I y) const {
    const I p = in_order(x), q = in_order(y);
    return in_order(kOp == AluOp::maximum ? hn::Max(p, q) : hn::Min(p, q));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
