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

// A full vector for 128, 256 and 512 bits, the sizes that the block moves below know.
using Square = hn::CappedTag<float, 16>;
inline constexpr std::size_t kSide = hn::MaxLanes(Square());
static_assert(kSide == 4 || kSide == 8 || kSide == 16);

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
  const Square d;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kSide; r += 4) transpose_blocks(v + r);
#pragma GCC unroll 4
  for (std::size_t k = 0; k < 4; ++k) {
    if constexpr (kSide == 8) {
      const V a = v[k], b = v[4 + k];
      v[k] = hn::ConcatLowerLower(d, b, a);
      v[4 + k] = hn::ConcatUpperUpper(d, b, a);
    }
    if constexpr (kSide == 16) {
      const V a = v[k], b = v[4 + k], c = v[8 + k], e = v[12 + k];
      const V even_ab = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      const V odd_ab = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
      const V even_ce = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(e), c);
      const V odd_ce = hn::OddEvenBlocks(e, hn::SwapAdjacentBlocks(c));
      v[k] = hn::ConcatLowerLower(d, even_ce, even_ab);
      v[4 + k] = hn::ConcatLowerLower(d, odd_ce, odd_ab);
      v[8 + k] = hn::ConcatUpperUpper(d, even_ce, even_ab);
      v[12 + k] = hn::ConcatUpperUpper(d, odd_ce, odd_ab);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
