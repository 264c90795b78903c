#include <algorithm>
#include <cstring>

#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One square of 32-bit elements, as large as the vectors allow.
struct WideSquare {
  using T = float;  // moved, never computed with
  static constexpr std::size_t kElements = kSide;
  static HWY_INLINE void run(const T* src, std::ptrdiff_t src_stride, T* dst, std::ptrdiff_t dst_stride) {
    const Square d;
    hn::Vec<Square> v[kSide];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kSide; ++r) v[r] = hn::LoadU(d, src + static_cast<std::ptrdiff_t>(r) * src_stride);
    transpose_square(v);
#pragma GCC unroll 8
    for (std::size_t c = 0; c < kSide; ++c) hn::StoreU(v[c], d, dst + static_cast<std::ptrdiff_t>(c) * dst_stride);
  }
};

// Squares of 16 bytes a side. Interleaving the upper half of the vectors with the lower half, log2 times, sends every
// element across the diagonal. Vectors of 32 bytes do that for two squares, one below the
// other, so that their elements are stored in one piece.
template <class Element>
struct NarrowSquare {
  using T = Element;
  static constexpr std::size_t kElements = 16 / sizeof(T);

  static HWY_INLINE void run(const T* src, std::ptrdiff_t src_stride, T* dst, std::ptrdiff_t dst_stride) {
    const hn::FixedTag<T, kElements> d;
    hn::Vec<decltype(d)> v[kElements];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kElements; ++r) v[r] = hn::LoadU(d, src + static_cast<std::ptrdiff_t>(r) * src_stride);
    cross(d, v);
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kElements; ++c) hn::StoreU(v[c], d, dst + static_cast<std::ptrdiff_t>(c) * dst_stride);
  }

  static HWY_INLINE void run_two(const T* src, std::ptrdiff_t src_stride, T* dst, std::ptrdiff_t dst_stride) {
    const hn::FixedTag<T, 2 * kElements> d;
    const hn::Half<decltype(d)> half;
    hn::Vec<decltype(d)> v[kElements];
    const T* const below = src + static_cast<std::ptrdiff_t>(kElements) * src_stride;
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kElements; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r) * src_stride;
      v[r] = hn::Combine(d, hn::LoadU(half, below + row), hn::LoadU(half, src + row));
    }
    cross(d, v);
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kElements; ++c) hn::StoreU(v[c], d, dst + static_cast<std::ptrdiff_t>(c) * dst_stride);
  }

 private:
  template <class D>
  static HWY_INLINE void cross(D d, hn::Vec<D>* v) {
    hn::Vec<D> w[kElements];
#pragma GCC unroll 4
    for (std::size_t step = 1; step < kElements; step *= 2) {
#pragma GCC unroll 16
      for (std::size_t k = 0; k < kElements / 2; ++k) {
        w[2 * k] = hn::InterleaveLower(d, v[k], v[k + kElements / 2]);
        w[2 * k + 1] = hn::InterleaveUpper(d, v[k], v[k + kElements / 2]);
      }
#pragma GCC unroll 16
      for (std::size_t k = 0; k < kElements; ++k) v[k] = w[k];
    }
  }
};

template <class T>
void transpose_edge(const T* src, std::ptrdiff_t src_stride, T* dst, std::ptrdiff_t dst_stride, std::size_t rows,
                    std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c)
    for (std::size_t r = 0; r < rows; ++r)
      std::memcpy(dst + static_cast<std::ptrdiff_t>(c) * dst_stride + r,
                  src + static_cast<std::ptrdiff_t>(r) * src_stride + c, sizeof(T));
}

// Whole squares, as many as there are.
template <class Squares, class T>
HWY_INLINE void transpose_squares(const T* src, std::ptrdiff_t src_stride, T* dst, std::ptrdiff_t dst_stride,
                                  std::size_t rows, std::size_t cols) {
  constexpr std::size_t kStep = Squares::kElements;
  std::size_t r = 0;
  if constexpr (sizeof(T) < 4) {
    for (; r + 2 * kStep <= rows; r += 2 * kStep)
      for (std::size_t c = 0; c < cols; c += kStep)
        Squares::run_two(src + static_cast<std::ptrdiff_t>(r) * src_stride + c, src_stride,
                         dst + static_cast<std::ptrdiff_t>(c) * dst_stride + r, dst_stride);
  }
  for (; r < rows; r += kStep)
    for (std::size_t c = 0; c < cols; c += kStep)
      Squares::run(src + static_cast<std::ptrdiff_t>(r) * src_stride + c, src_stride,
                   dst + static_cast<std::ptrdiff_t>(c) * dst_stride + r, dst_stride);
}

// Tiles of one cache line by one cache line, so that a line is finished while it is near.
template <class Squares>
void transpose_tiles(const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride, std::size_t rows,
                     std::size_t cols) {
  using T = typename Squares::T;
  constexpr std::size_t kStep = Squares::kElements, kTile = std::max(kStep, 64 / sizeof(T));
  const auto* from = static_cast<const T*>(src);
  auto* to = static_cast<T*>(dst);
  const std::size_t full_rows = rows / kStep * kStep, full_cols = cols / kStep * kStep;
  for (std::size_t r0 = 0; r0 < full_rows; r0 += kTile)
    for (std::size_t c0 = 0; c0 < full_cols; c0 += kTile)
      transpose_squares<Squares>(from + static_cast<std::ptrdiff_t>(r0) * src_stride + c0, src_stride,
                                 to + static_cast<std::ptrdiff_t>(c0) * dst_stride + r0, dst_stride,
                                 std::min(kTile, full_rows - r0), std::min(kTile, full_cols - c0));
  transpose_edge(from + full_cols, src_stride, to + static_cast<std::ptrdiff_t>(full_cols) * dst_stride, dst_stride,
                 full_rows, cols - full_cols);
  transpose_edge(from + static_cast<std::ptrdiff_t>(full_rows) * src_stride, src_stride, to + full_rows, dst_stride,
                 rows - full_rows, cols);
}

void transpose(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride,
               std::size_t rows, std::size_t cols) {
  if (size_bytes == 1) return transpose_tiles<NarrowSquare<std::uint8_t>>(src, src_stride, dst, dst_stride, rows, cols);
  if (size_bytes == 2)
    return transpose_tiles<NarrowSquare<std::uint16_t>>(src, src_stride, dst, dst_stride, rows, cols);
  transpose_tiles<WideSquare>(src, src_stride, dst, dst_stride, rows, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(transpose);

void transpose(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride,
               std::size_t rows, std::size_t cols) {
  HWY_DYNAMIC_DISPATCH(transpose)(size_bytes, src, src_stride, dst, dst_stride, rows, cols);
}

}  // namespace kiln::fast
#endif
