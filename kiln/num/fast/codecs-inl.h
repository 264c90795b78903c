// Vectors of each dtype to and from float32; included once for each target.
#if defined(KILN_NUM_FAST_CODECS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_CODECS_INL_H_
#undef KILN_NUM_FAST_CODECS_INL_H_
#else
#define KILN_NUM_FAST_CODECS_INL_H_
#endif

#include <hwy/highway.h>

#include "kiln/base/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::uint32_t kQuiet = 0x00400000;

struct FromBfloat16 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V raw) const {
    const hn::Rebind<std::uint32_t, D> du;
    const auto value = hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, raw)));
    return hn::IfThenElse(hn::IsNaN(value), hn::Or(value, hn::BitCast(d, hn::Set(du, kQuiet))), value);
  }
};

struct FromFloat16 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V raw) const {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), raw));
  }
};

struct FromBool {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V raw) const {
    const hn::Rebind<std::uint32_t, D> du;
    const hn::Rebind<std::int32_t, D> di;
    return hn::ConvertTo(d, hn::BitCast(di, hn::Min(hn::PromoteTo(du, raw), hn::Set(du, 1u))));
  }
};

// A float8 put in place as a float16 has the right value but for the bias, which an exact product puts right. What is
// not finite is rare and looked for first: it is put together by hand.
struct FromFloat8 {
  explicit FromFloat8(const DTypeInfo& row)
      : mantissa_bits(row.mantissa_bits),
        infinity((0x7fu >> row.mantissa_bits) << row.mantissa_bits),
        last_finite(static_cast<std::int8_t>((row.has_infinity ? infinity : 0x7fu) - 1)),
        kept(static_cast<std::int16_t>(0x8000u | 0x7fu << (10 - row.mantissa_bits))),
        factor(static_cast<float>(1 << (15 - row.bias))) {}

  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V raw) const {
    const hn::Rebind<std::int16_t, D> d_half;
    const hn::Rebind<std::int8_t, D> d_code;
    const auto code = hn::BitCast(d_code, raw);
    const auto magnitude = hn::And(code, hn::Set(d_code, std::int8_t{0x7f}));
    if (HWY_UNLIKELY(!hn::AllFalse(d_code, hn::Gt(magnitude, hn::Set(d_code, last_finite))))) return any(d, raw);
    const auto in_place =
        hn::And(hn::ShiftLeftSame(hn::PromoteTo(d_half, code), 10 - mantissa_bits), hn::Set(d_half, kept));
    const hn::Rebind<hwy::float16_t, D> d_float16;
    return hn::Mul(hn::PromoteTo(d, hn::BitCast(d_float16, in_place)), hn::Set(d, factor));
  }

 private:
  template <class D, class V>
  HWY_NOINLINE hn::Vec<D> any(D d, V raw) const {
    const hn::Rebind<std::uint32_t, D> du;
    const auto bits = hn::PromoteTo(du, raw);
    const auto code = hn::And(bits, hn::Set(du, 0x7fu));
    const auto aligned = hn::ShiftLeftSame(code, 23 - mantissa_bits);
    // As a float32 its bias is 127; the product of both powers of two is that of float16 and `factor`.
    const auto finite = hn::Mul(hn::Mul(hn::BitCast(d, aligned), hn::Set(d, 0x1p112f)), hn::Set(d, factor));
    const auto nan = hn::Or(aligned, hn::Set(du, 0x7f800000u | kQuiet));
    const auto is_infinity = hn::Eq(code, hn::Set(du, infinity));
    const auto other = hn::IfThenElse(is_infinity, hn::Set(du, 0x7f800000u), nan);
    const auto is_finite = hn::Lt(code, hn::Set(du, static_cast<std::uint32_t>(last_finite) + 1));
    const auto result = hn::IfThenElse(is_finite, hn::BitCast(du, finite), other);
    return hn::BitCast(d, hn::Or(result, hn::ShiftLeft<24>(hn::And(bits, hn::Set(du, 0x80u)))));
  }

  int mantissa_bits;
  std::uint32_t infinity;
  std::int8_t last_finite;
  std::int16_t kept;
  float factor;
};

// A scale is the exponent of a float32, but for code 0, which is 2^-127, and code 255, NaN: both have the bit
// below.
struct FromScale {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V raw) const {
    const hn::Rebind<std::uint32_t, D> du;
    const auto code = hn::PromoteTo(du, raw);
    const auto is_end = hn::Or(hn::Eq(code, hn::Zero(du)), hn::Eq(code, hn::Set(du, 255u)));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<23>(code), hn::IfThenElseZero(is_end, hn::Set(du, kQuiet))));
  }
};

// Integers narrower than 32 bits, and int32.
struct FromInt {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V raw) const {
    const hn::Rebind<std::int32_t, D> di;
    if constexpr (sizeof(hn::TFromV<V>) == 4) {
      return hn::ConvertTo(d, raw);
    } else {
      return hn::ConvertTo(d, hn::PromoteTo(di, raw));
    }
  }
};

// Both halves are exact and so is the product: the sum is the only rounding.
struct FromUint32 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V raw) const {
    const hn::Rebind<std::int32_t, D> di;
    const hn::Rebind<std::uint32_t, D> du;
    const auto high = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<16>(raw)));
    const auto low = hn::ConvertTo(d, hn::BitCast(di, hn::And(raw, hn::Set(du, 0xffffu))));
    return hn::Add(hn::Mul(high, hn::Set(d, 65536.0f)), low);
  }
};

// Rounds float32 bits to nearest even at bit kDrop; a NaN loses its low bits and becomes quiet.
template <int kDrop, class D, class V>
HWY_INLINE V round_bits(D du, V bits) {
  const hn::Rebind<float, D> d;
  const auto odd = hn::And(hn::ShiftRight<kDrop>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, (1u << (kDrop - 1)) - 1)), odd);
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(hn::BitCast(d, bits))), hn::Or(bits, hn::Set(du, kQuiet)),
                        rounded);
}

struct ToBfloat16 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d_raw, V value) const {
    const hn::Rebind<std::uint32_t, D> du;
    return hn::TruncateTo(d_raw, hn::ShiftRight<16>(round_bits<16>(du, hn::BitCast(du, value))));
  }
};

struct ToTfloat32 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D du, V value) const {
    return hn::And(round_bits<13>(du, hn::BitCast(du, value)), hn::Set(du, ~0x1fffu));
  }
};

struct ToFloat16 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d_raw, V value) const {
    return hn::BitCast(d_raw, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), value));
  }
};

template <class V>
HWY_INLINE hn::Vec<hn::RebindToSigned<hn::DFromV<V>>> round_to_int32(V value) {
  const hn::RebindToSigned<hn::DFromV<V>> di;
  return hn::IfThenZeroElse(hn::RebindMask(di, hn::IsNaN(value)), hn::NearestInt(value));
}

// NearestInt saturates at 32 bits. What is narrower is held within its range first; added to 1.5 * 2^23, it leaves its
// nearest integer, ties to even, in the low bits of the sum.
struct ToInt {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d_raw, V value) const {
    using T = hn::TFromD<D>;
    if constexpr (sizeof(T) == 4) {
      return round_to_int32(value);
    } else {
      const hn::Rebind<float, D> d;
      const hn::Rebind<std::uint32_t, D> du;
      const hn::RebindToUnsigned<D> d_bits;
      const auto number = hn::IfThenZeroElse(hn::IsNaN(value), value);
      const auto lowest = hn::Set(d, hwy::LimitsMin<T>()), highest = hn::Set(d, hwy::LimitsMax<T>());
      const auto sum = hn::Add(hn::Min(hn::Max(number, lowest), highest), hn::Set(d, 0x1.8p23f));
      return hn::BitCast(d_raw, hn::TruncateTo(d_bits, hn::BitCast(du, sum)));
    }
  }
};

// Values from 2^31 are whole numbers, so taking 2^31 off first changes nothing but the range.
struct ToUint32 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D du, V value) const {
    const hn::Rebind<float, D> d;
    const auto half = hn::Set(d, 0x1p31f);
    const auto is_high = hn::Ge(value, half);
    const auto positive = hn::IfThenElseZero(hn::Gt(value, hn::Zero(d)), value);
    const auto low = hn::IfThenElse(is_high, hn::Sub(value, half), positive);
    const auto top = hn::IfThenElseZero(hn::RebindMask(du, is_high), hn::Set(du, 0x80000000u));
    return hn::Add(hn::BitCast(du, hn::NearestInt(low)), top);
  }
};

struct ToBool {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d_raw, V value) const {
    const hn::Rebind<float, D> d;
    const hn::Rebind<std::int32_t, D> di;
    const auto is_zero = hn::RebindMask(di, hn::Eq(value, hn::Zero(d)));
    return hn::DemoteTo(d_raw, hn::IfThenZeroElse(is_zero, hn::Set(di, 1)));
  }
};

// A float8 from its format. Added to a power of two whose last place is that of the result, a magnitude is rounded to
// nearest even: the sum counts places of this size. There are twice as many below the next power of two as there are
// subnormal ones below the first normal value, so the code is the count and the power's own part of it. What is larger
// than all finite values becomes the one that would follow them, whose code stands for overflow.
struct ToFloat8 {
  explicit ToFloat8(const DTypeInfo& row)
      : drop(23 - row.mantissa_bits),
        infinity((0x7fu >> row.mantissa_bits) << row.mantissa_bits),
        finite_end(row.has_infinity ? infinity : 0x7f),
        nan_bits(row.has_infinity ? 0 : 0x7f),
        first_normal(static_cast<std::uint32_t>(128 - row.bias) << 23),
        overflow((finite_end << drop) + (static_cast<std::uint32_t>(127 - row.bias) << 23)) {}

  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d_raw, V value) const {
    const hn::Rebind<float, D> d;
    const hn::Rebind<std::uint32_t, D> du;
    const auto bits = hn::BitCast(du, value);
    const auto magnitude = hn::Min(hn::BitCast(du, hn::Abs(value)), hn::Set(du, overflow));
    const auto power = hn::Max(hn::And(magnitude, hn::Set(du, 0x7f800000u)), hn::Set(du, first_normal));
    const auto places = hn::Add(power, hn::Set(du, static_cast<std::uint32_t>(drop) << 23));
    const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, places));
    const auto count = hn::Sub(hn::BitCast(du, sum), places);
    auto code = hn::Add(count, hn::ShiftRightSame(hn::Sub(power, hn::Set(du, first_normal)), drop));
    if (const auto is_nan = hn::IsNaN(value); HWY_UNLIKELY(!hn::AllFalse(d, is_nan))) {
      const auto payload = hn::ShiftRightSame(hn::Or(hn::And(bits, hn::Set(du, 0x7fffffu)), hn::Set(du, kQuiet)), drop);
      const auto nan = hn::Or(hn::Or(payload, hn::Set(du, infinity)), hn::Set(du, nan_bits));
      code = hn::IfThenElse(hn::RebindMask(du, is_nan), nan, code);
    }
    const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(du, 0x80u));
    return hn::TruncateTo(d_raw, hn::Or(code, sign));
  }

  int drop;
  std::uint32_t infinity, finite_end, nan_bits, first_normal, overflow;
};

// The nearest power of two; what has none (zero, negative values, NaN) is NaN. A tie goes to the even
// significand, and since a power of two has none but 1, that is up, or down to the smallest scale.
struct ToScale {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d_raw, V value) const {
    const hn::Rebind<float, D> d;
    const hn::Rebind<std::uint32_t, D> du;
    const hn::Rebind<std::int32_t, D> di;
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::Min(hn::ShiftRight<23>(bits), hn::Set(du, 1u));
    const auto code = hn::ShiftRight<23>(hn::Add(hn::Add(bits, hn::Set(du, 0x3fffffu)), odd));
    const auto has_code = hn::RebindMask(du, hn::Gt(value, hn::Zero(d)));
    return hn::DemoteTo(d_raw, hn::BitCast(di, hn::IfThenElse(has_code, code, hn::Set(du, 255u))));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
