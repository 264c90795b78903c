// Operands of products as they lie in memory, and where the sums go; included once for each target.
#if defined(KILN_NUM_FAST_FACTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_FACTOR_INL_H_
#undef KILN_NUM_FAST_FACTOR_INL_H_
#else
#define KILN_NUM_FAST_FACTOR_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kiln/num/fast/codecs-inl.h"
#include "kiln/num/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

constexpr std::size_t kLanes = hn::MaxLanes(Tag());
constexpr std::size_t kLine = 64;  // bytes of a cache line

// An operand of float32 or bfloat16, as it lies in memory.
struct Source {
  const std::byte* data;
  std::ptrdiff_t row_bytes;
  bool narrow;  // bfloat16
  bool paired;  // every second float

  explicit Source(const Factor& f)
      : data(static_cast<const std::byte*>(f.data)),
        row_bytes(f.stride * size_bytes(f.dtype)),
        narrow(f.dtype == DType::bfloat16),
        paired(f.paired) {}
  std::size_t element_bytes() const {
    return narrow ? sizeof(std::uint16_t) : paired ? 2 * sizeof(float) : sizeof(float);
  }
  bool is_packed_first() const { return narrow || paired; }  // else it is multiplied where it lies
  const std::byte* row_at(std::size_t i) const { return data + static_cast<std::ptrdiff_t>(i) * row_bytes; }
  template <class Kind>
  const typename Kind::Raw* row(std::size_t i) const {
    return reinterpret_cast<const typename Kind::Raw*>(row_at(i));
  }
  std::ptrdiff_t float_stride() const { return row_bytes / static_cast<std::ptrdiff_t>(sizeof(float)); }
  Source from_column(std::size_t column) const {
    Source s = *this;
    s.data += column * element_bytes();
    return s;
  }
};

// How elements of each kind become float32.
struct Wide {
  using Raw = float;
  static HWY_INLINE Vec load(const float* from) { return hn::LoadU(Tag(), from); }
  static HWY_INLINE Vec load_first(const float* from, std::size_t n) {
    return hn::MaskedLoad(hn::FirstN(Tag(), n), Tag(), from);
  }
  static HWY_INLINE float one(const float* from) { return *from; }
};
struct Narrow {
  using Raw = std::uint16_t;
  using RawTag = hn::Rebind<std::uint16_t, Tag>;
  // A signalling NaN stays one: it is multiplied, or compared with 0.
  static HWY_INLINE Vec widen(hn::Vec<RawTag> raw) {
    const hn::RebindToUnsigned<Tag> du;
    return hn::BitCast(Tag(), hn::ShiftLeft<16>(hn::PromoteTo(du, raw)));
  }
  static HWY_INLINE Vec load(const std::uint16_t* from) { return widen(hn::LoadU(RawTag(), from)); }
  // AVX-512 alone has loads of 16 bits with a mask; elsewhere, whole vectors would be read, and had to be aligned.
  static HWY_INLINE Vec load_first(const std::uint16_t* from, std::size_t n) {
#if HWY_TARGET <= HWY_AVX3
    return widen(hn::MaskedLoad(hn::FirstN(RawTag(), n), RawTag(), from));
#else
    if (n == kLanes) return load(from);
    alignas(64) std::uint16_t first[kLanes] = {};
    for (std::size_t i = 0; i < n; ++i) first[i] = from[i];
    return widen(hn::Load(RawTag(), first));
#endif
  }
  static HWY_INLINE float one(const std::uint16_t* from) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(*from) << 16);
  }
};

struct FloatPair {
  float value, other;
};
struct Paired {
  using Raw = FloatPair;
  // What is between is not read: someone else may be writing it.
  static HWY_INLINE Vec load(const FloatPair* from) { return load_first(from, kLanes); }
  static HWY_INLINE Vec load_first(const FloatPair* from, std::size_t n) {
    const Tag d;
    const hn::RebindToUnsigned<Tag> du;
    const auto is_even = hn::RebindMask(d, hn::Eq(hn::And(hn::Iota(du, 0), hn::Set(du, 1)), hn::Zero(du)));
    const auto half = [&](std::size_t first) HWY_ATTR {
      const std::size_t there = n > first ? std::min(2 * (n - first), kLanes) : 0;
      const float* at = &from->value + 2 * first;
      return there == kLanes ? hn::MaskedLoad(is_even, d, at)
                             : hn::MaskedLoad(hn::And(is_even, hn::FirstN(d, there)), d, at);
    };
    return hn::ConcatEven(d, half(kLanes / 2), half(0));
  }
  static HWY_INLINE float one(const FloatPair* from) { return from->value; }
};

// Calls fn(kind).
template <class Fn>
HWY_INLINE auto with_kind(const Source& s, Fn&& fn) {
  if (s.narrow) return fn(Narrow());
  return s.paired ? fn(Paired()) : fn(Wide());
}

struct Output {
  float* data;
  std::ptrdiff_t stride;
  bool accumulate;

  Output from(std::size_t row, std::size_t column) const {
    return {data + static_cast<std::ptrdiff_t>(row) * stride + column, stride, accumulate};
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
