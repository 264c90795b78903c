#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A matrix and where its transpose goes; strides in elements.
template <class T>
struct Turn {
  const T* src;
  std::ptrdiff_t src_stride;
  T* dst;
  std::ptrdiff_t dst_stride;

  HWY_INLINE const T* row(std::size_t r) const { return src + static_cast<std::ptrdiff_t>(r) * src_stride; }
  HWY_INLINE T* column(std::size_t c) const { return dst + static_cast<std::ptrdiff_t>(c) * dst_stride; }
  HWY_INLINE Turn from(std::size_t r, std::size_t c) const {
    return {row(r) + c, src_stride, column(c) + r, dst_stride};
  }
};

// What becomes of elements before they are stored: nothing.
template <class T>
struct Moved {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) {
    return x;
  }
  HWY_INLINE T one(T x) { return x; }
};

// -0 becomes 0; tells of the largest without its sign.
template <class T>
class Numbers {
  using Widest = hn::ScalableTag<T>;
  static constexpr T kNegativeZero = static_cast<T>(T{1} << (8 * sizeof(T) - 1));

 public:
  HWY_INLINE Numbers() : found_(hn::Zero(Widest())) {}
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) {
    const auto number = hn::IfThenZeroElse(hn::Eq(x, hn::Set(d, kNegativeZero)), x);
    found_ = hn::Max(found_, widened(d, hn::Add(number, number)));  // shifts the sign out
    return number;
  }
  HWY_INLINE T one(T x) { return hn::GetLane((*this)(hn::FixedTag<T, 1>(), hn::Set(hn::FixedTag<T, 1>(), x))); }
  HWY_INLINE std::uint32_t largest() const {
    const hn::Repartition<std::uint32_t, Widest> d;
    auto words = hn::BitCast(d, found_);
    if constexpr (sizeof(T) == 2) words = hn::Max(hn::ShiftRight<16>(words), hn::And(words, hn::Set(d, 0xffffu)));
    return hn::GetLane(hn::MaxOfLanes(d, words)) / 2;
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<Widest> widened(D, hn::Vec<D> x) {
    if constexpr (hn::MaxLanes(D()) == hn::MaxLanes(Widest())) {
      return x;
    } else {
      const hn::FixedTag<T, 2 * hn::MaxLanes(D())> twice;
      return widened(twice, hn::ZeroExtendVector(twice, x));
    }
  }

  hn::Vec<Widest> found_;
};

// Elements of a block, within which vectors are interleaved.
template <class T>
inline constexpr std::size_t kBlock = 16 / sizeof(T);

// Interleaving the upper half of kVectors vectors with the lower half takes the highest bit of the places of their
// elements to the other end. Done log2(kRows) times, that makes columns of rows that follow each other, in each block.
template <std::size_t kVectors, std::size_t kRows, class D>
HWY_INLINE void cross(D d, hn::Vec<D>* v) {
  hn::Vec<D> w[kVectors];
#pragma GCC unroll 4
  for (std::size_t step = 1; step < kRows; step *= 2) {
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kVectors / 2; ++k) {
      w[2 * k] = hn::InterleaveLower(d, v[k], v[k + kVectors / 2]);
      w[2 * k + 1] = hn::InterleaveUpper(d, v[k], v[k + kVectors / 2]);
    }
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kVectors; ++k) v[k] = w[k];
  }
}

// kColumns elements of rows from `row` on, side by side in each block; the next block has the rows below those of this
// one.
template <std::size_t kColumns, class T, class D>
HWY_INLINE hn::Vec<D> load_rows(D d, const Turn<T>& turn, std::size_t row) {
  if constexpr (hn::MaxLanes(D()) == kColumns) {
    return hn::LoadU(d, turn.row(row));
  } else {
    const hn::Half<D> half;
    constexpr std::size_t kHalf = hn::MaxLanes(half), kBelow = kHalf < kBlock<T> ? kHalf / kColumns : kHalf;
    return hn::Combine(d, load_rows<kColumns>(half, turn, row + kBelow), load_rows<kColumns>(half, turn, row));
  }
}

// kRows rows of so many columns, in vectors of kRows elements.
template <std::size_t kColumns, std::size_t kRows, class T, class Way>
HWY_INLINE void turn_strip(const Turn<T>& turn, Way& way) {
  constexpr std::size_t kOfBlock = std::min(kRows, kBlock<T>);
  const hn::FixedTag<T, kRows> d;
  hn::Vec<decltype(d)> v[kColumns];
#pragma GCC unroll 16
  for (std::size_t k = 0; k < kColumns; ++k) v[k] = load_rows<kColumns>(d, turn, k * (kOfBlock / kColumns));
  cross<kColumns, kOfBlock>(d, v);
#pragma GCC unroll 16
  for (std::size_t c = 0; c < kColumns; ++c) hn::StoreU(way(d, v[c]), d, turn.column(c));
}

// All columns of kRows rows. The last strip may lie over the one before: what is written twice is the same.
template <std::size_t kColumns, std::size_t kRows, class T, class Way>
HWY_INLINE void turn_strips(const Turn<T>& turn, std::size_t columns, Way& way) {
  for (std::size_t c = 0; c < columns; c += kColumns)
    turn_strip<kColumns, kRows>(turn.from(0, std::min(c, columns - kColumns)), way);
}

// From `row` on, as long as there are kRows rows; gives the next one.
template <std::size_t kColumns, std::size_t kRows, class T, class Way>
HWY_INLINE std::size_t turn_rows(const Turn<T>& turn, std::size_t row, std::size_t rows, std::size_t columns,
                                 Way& way) {
  if constexpr (kRows * sizeof(T) <= HWY_MAX_BYTES) {
    for (; row + kRows <= rows; row += kRows) turn_strips<kColumns, kRows>(turn.from(row, 0), columns, way);
  }
  return row;
}

#if HWY_MAX_BYTES >= 64
// Blocks of four elements, a vector of four of them for each of four rows, become columns.
template <class D, class V, class Way>
HWY_INLINE void store_blocks(D d, V a, V b, V c, V e, const Turn<std::uint32_t>& turn, std::size_t column, Way& way) {
  const V low_ac = hn::ConcatLowerLower(d, c, a), low_be = hn::ConcatLowerLower(d, e, b);
  const V high_ac = hn::ConcatUpperUpper(d, c, a), high_be = hn::ConcatUpperUpper(d, e, b);
  hn::StoreU(way(d, hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low_be), low_ac)), d, turn.column(column));
  hn::StoreU(way(d, hn::OddEvenBlocks(low_be, hn::SwapAdjacentBlocks(low_ac))), d, turn.column(column + 4));
  hn::StoreU(way(d, hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high_be), high_ac)), d, turn.column(column + 8));
  hn::StoreU(way(d, hn::OddEvenBlocks(high_be, hn::SwapAdjacentBlocks(high_ac))), d, turn.column(column + 12));
}

// 16 rows of 16 elements of 32 bits: each vector is a cache line where they begin with one, which is read once.
template <class Way>
HWY_INLINE void turn_lines(const Turn<std::uint32_t>& turn, Way& way) {
  const hn::FixedTag<std::uint32_t, 16> d;
  hn::Vec<decltype(d)> v[16];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < 16; ++r) v[r] = hn::LoadU(d, turn.row(r));
#pragma GCC unroll 4
  for (std::size_t r = 0; r < 16; r += 4) cross<4, 4>(d, v + r);
#pragma GCC unroll 4
  for (std::size_t c = 0; c < 4; ++c) store_blocks(d, v[c], v[c + 4], v[c + 8], v[c + 12], turn, c, way);
}
#endif

// Tiles of at least kSide rows and columns, and of one cache line by one cache line at most, so that a line is finished
// while it is near.
template <std::size_t kSide, class T, class Way>
HWY_INLINE void turn_tile(const Turn<T>& turn, std::size_t rows, std::size_t columns, Way& way) {
#if HWY_MAX_BYTES >= 64
  if constexpr (sizeof(T) == 4) {
    if (rows == 16 && columns == 16) return turn_lines(turn, way);
  }
#endif
  std::size_t row = turn_rows<kSide, 4 * kBlock<T>>(turn, 0, rows, columns, way);
  row = turn_rows<kSide, 2 * kBlock<T>>(turn, row, rows, columns, way);
  row = turn_rows<kSide, kBlock<T>>(turn, row, rows, columns, way);
  row = turn_rows<kSide, kSide>(turn, row, rows, columns, way);
  if (row < rows) turn_strips<kSide, kSide>(turn.from(rows - kSide, 0), columns, way);
}

// The last tiles may lie over those before.
template <std::size_t kSide, class T, class Way>
void turn_tiles(const Turn<T>& turn, std::size_t rows, std::size_t columns, Way& way) {
  constexpr std::size_t kTile = 64 / sizeof(T);
  Way here = way;  // which no element can lie over, so it stays in registers
  for (std::size_t r = 0; r < rows; r += kTile) {
    const std::size_t height = std::clamp(rows - r, kSide, kTile);
    for (std::size_t c = 0; c < columns; c += kTile) {
      const std::size_t width = std::clamp(columns - c, kSide, kTile);
      turn_tile<kSide>(turn.from(std::min(r, rows - height), std::min(c, columns - width)), height, width, here);
    }
  }
  way = here;
}

// The parts of a row of pairs or triples, which follow each other.
template <std::size_t kParts, class T, class Way>
HWY_INLINE std::size_t take_apart(const Turn<T>& turn, std::size_t rows, Way& way) {
  const hn::ScalableTag<T> d;
  std::size_t r = 0;
  for (; r + hn::MaxLanes(d) <= rows; r += hn::MaxLanes(d)) {
    hn::Vec<decltype(d)> v[3];
    if constexpr (kParts == 2) hn::LoadInterleaved2(d, turn.src + 2 * r, v[0], v[1]);
    if constexpr (kParts == 3) hn::LoadInterleaved3(d, turn.src + 3 * r, v[0], v[1], v[2]);
    for (std::size_t c = 0; c < kParts; ++c) hn::StoreU(way(d, v[c]), d, turn.column(c) + r);
  }
  return r;
}

// The opposite.
template <std::size_t kParts, class T, class Way>
HWY_INLINE std::size_t put_together(const Turn<T>& turn, std::size_t columns, Way& way) {
  const hn::ScalableTag<T> d;
  std::size_t c = 0;
  for (; c + hn::MaxLanes(d) <= columns; c += hn::MaxLanes(d)) {
    hn::Vec<decltype(d)> v[3];
    for (std::size_t r = 0; r < kParts; ++r) v[r] = way(d, hn::LoadU(d, turn.row(r) + c));
    if constexpr (kParts == 2) hn::StoreInterleaved2(v[0], v[1], d, turn.dst + 2 * c);
    if constexpr (kParts == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, turn.dst + 3 * c);
  }
  return c;
}

template <class T, class Way>
void turn_one_by_one(const Turn<T>& turn, std::size_t rows, std::size_t columns, Way& way) {
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) {
      T element;
      std::memcpy(&element, turn.row(r) + c, sizeof element);
      element = way.one(element);
      std::memcpy(turn.column(c) + r, &element, sizeof element);
    }
}

// Fewer than four rows or columns.
template <class T, class Way>
void turn_few(const Turn<T>& turn, std::size_t rows, std::size_t columns, Way& way) {
  std::size_t row = 0, column = 0;
  if (columns == 2 && turn.src_stride == 2) row = take_apart<2>(turn, rows, way);
  if (columns == 3 && turn.src_stride == 3) row = take_apart<3>(turn, rows, way);
  if (rows == 2 && turn.dst_stride == 2) column = put_together<2>(turn, columns, way);
  if (rows == 3 && turn.dst_stride == 3) column = put_together<3>(turn, columns, way);
  turn_one_by_one(turn.from(row, column), rows - row, columns - column, way);
}

template <class T, class Way>
void turn_all(const Turn<T>& turn, std::size_t rows, std::size_t columns, Way& way) {
  const std::size_t least = std::min(rows, columns);
  if (least < 4) return turn_few(turn, rows, columns, way);
  if constexpr (kBlock<T> >= 16)
    if (least >= 16) return turn_tiles<16>(turn, rows, columns, way);
  if constexpr (kBlock<T> >= 8)
    if (least >= 8) return turn_tiles<8>(turn, rows, columns, way);
  turn_tiles<4>(turn, rows, columns, way);
}

// The matrix as one of T.
template <class T>
Turn<T> turn_of(const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride) {
  return {static_cast<const T*>(src), src_stride, static_cast<T*>(dst), dst_stride};
}

void transpose(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride,
               std::size_t rows, std::size_t cols) {
  const auto turn = [&](auto element) {
    using T = decltype(element);
    Moved<T> way;
    turn_all(turn_of<T>(src, src_stride, dst, dst_stride), rows, cols, way);
  };
  if (size_bytes == 1) return turn(std::uint8_t{});
  if (size_bytes == 2) return turn(std::uint16_t{});
  turn(std::uint32_t{});
}

std::uint32_t transpose_numbers(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst,
                                std::ptrdiff_t dst_stride, std::size_t rows, std::size_t cols) {
  const auto turn = [&](auto element) {
    using T = decltype(element);
    Numbers<T> way;
    turn_all(turn_of<T>(src, src_stride, dst, dst_stride), rows, cols, way);
    return way.largest();
  };
  return size_bytes == 4 ? turn(std::uint32_t{}) : turn(std::uint16_t{});
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(transpose);
HWY_EXPORT(transpose_numbers);

void transpose(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride,
               std::size_t rows, std::size_t cols) {
  HWY_DYNAMIC_DISPATCH(transpose)(size_bytes, src, src_stride, dst, dst_stride, rows, cols);
}

std::uint32_t transpose_numbers(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst,
                                std::ptrdiff_t dst_stride, std::size_t rows, std::size_t cols) {
  return HWY_DYNAMIC_DISPATCH(transpose_numbers)(size_bytes, src, src_stride, dst, dst_stride, rows, cols);
}

}  // namespace kiln::fast
#endif
