// Transposition of a square of 32-bit lanes in registers; included once for each target.
#if defined(KILN_NUM_FAST_SQUARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_SQUARE_INL_H_
#undef KILN_NUM_FAST_SQUARE_INL_H_
#else
#define KILN_NUM_FAST_SQUARE_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most eight rows: rows that lie a power of two apart share their place in the first-level cache, which
// holds eight.
using Square = hn::CappedTag<float, 8>;
inline constexpr std::size_t kSide = hn::MaxLanes(Square());
static_assert(kSide == 4 || kSide == 8);

// Four rows: afterwards v[k] holds, in its 128-bit block b, the column 4b + k.
template <class V>
HWY_INLINE void transpose_blocks(V* v) {
  const Square d;
  const hn::RepartitionToWide<Square> d64;
  const V low01 = hn::InterleaveLower(d, v[0], v[1]), high01 = hn::InterleaveUpper(d, v[0], v[1]);
  const V low23 = hn::InterleaveLower(d, v[2], v[3]), high23 = hn::InterleaveUpper(d, v[2], v[3]);
  v[0] = hn::BitCast(d, hn::InterleaveLower(d64, hn::BitCast(d64, low01), hn::BitCast(d64, low23)));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(d64, hn::BitCast(d64, low01), hn::BitCast(d64, low23)));
  v[2] = hn::BitCast(d, hn::InterleaveLower(d64, hn::BitCast(d64, high01), hn::BitCast(d64, high23)));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(d64, hn::BitCast(d64, high01), hn::BitCast(d64, high23)));
}

// v[r] lane c becomes v[c] lane r.
template <class V>
HWY_INLINE void transpose_square(V* v) {
  [[maybe_unused]] const Square d;
  transpose_blocks(v);
  if constexpr (kSide == 8) {
    transpose_blocks(v + 4);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k) {
      const V a = v[k], b = v[4 + k];
      v[k] = hn::ConcatLowerLower(d, b, a);
      v[4 + k] = hn::ConcatUpperUpper(d, b, a);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
