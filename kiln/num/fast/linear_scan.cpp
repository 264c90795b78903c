// A row's recurrence is a chain, so rows run side by side: squares of elements are turned round in registers, one step
// takes a column of them, and what comes out is turned back.
#include <algorithm>

#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/linear_scan.cpp"  // NOLINT: the name is Highway's
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

using Vec = hn::Vec<Square>;

// Rows of floats, a distance apart.
template <class Float>
struct Rows {
  Float* data;
  std::ptrdiff_t stride;
  HWY_INLINE Float* at(std::size_t row, std::size_t column) const {
    return data + static_cast<std::ptrdiff_t>(row) * stride + static_cast<std::ptrdiff_t>(column);
  }
};

HWY_INLINE void load_square(const Rows<const float>& from, std::size_t row, std::size_t column, Vec* v) {
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kSide; ++r) v[r] = hn::LoadU(Square(), from.at(row + r, column));
  transpose_square(v);
}

// kSide steps of kSide rows.
HWY_INLINE Vec scan_square(const Rows<const float>& x, const Rows<const float>& y, const Rows<float>& out,
                           std::size_t row, std::size_t column, Vec state) {
  Vec a[kSide], b[kSide];
  load_square(x, row, column, a);
  load_square(y, row, column, b);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kSide; ++i) b[i] = state = hn::Add(hn::Mul(a[i], state), b[i]);
  transpose_square(b);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kSide; ++r) hn::StoreU(b[r], Square(), out.at(row + r, column));
  return state;
}

void scan_one_by_one(const Rows<const float>& x, const Rows<const float>& y, const Rows<float>& out, std::size_t row,
                     std::size_t rows, std::size_t first, std::size_t n, float* state) {
  for (std::size_t r = row; r < row + rows; ++r) {
    float s = state[r];
    for (std::size_t i = first; i < n; ++i) {
      const float product = *x.at(r, i) * s;
      *out.at(r, i) = s = product + *y.at(r, i);
    }
    state[r] = s;
  }
}

// Several squares of rows in turns, so that none waits for its own last step.
template <std::size_t kSquares>
HWY_INLINE void scan_squares(const Rows<const float>& x, const Rows<const float>& y, const Rows<float>& out,
                             std::size_t row, std::size_t n, float* state) {
  Vec states[kSquares];
  for (std::size_t k = 0; k < kSquares; ++k) states[k] = hn::LoadU(Square(), state + row + k * kSide);
  std::size_t i = 0;
  for (; i + kSide <= n; i += kSide) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kSquares; ++k) states[k] = scan_square(x, y, out, row + k * kSide, i, states[k]);
  }
  for (std::size_t k = 0; k < kSquares; ++k) hn::StoreU(states[k], Square(), state + row + k * kSide);
  scan_one_by_one(x, y, out, row, kSquares * kSide, i, n, state);
}

}  // namespace

void linear_scan(const float* x, std::ptrdiff_t x_stride, const float* y, std::ptrdiff_t y_stride, float* out,
                 std::ptrdiff_t out_stride, std::size_t rows, std::size_t n, float* state) {
  constexpr std::size_t kTurns = 4;
  const Rows<const float> from{x, x_stride}, added{y, y_stride};
  const Rows<float> to{out, out_stride};
  std::size_t row = 0;
  for (; row + kTurns * kSide <= rows; row += kTurns * kSide) scan_squares<kTurns>(from, added, to, row, n, state);
  for (; row + kSide <= rows; row += kSide) scan_squares<1>(from, added, to, row, n, state);
  scan_one_by_one(from, added, to, row, rows - row, 0, n, state);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(linear_scan);

void linear_scan(const float* x, std::ptrdiff_t x_stride, const float* y, std::ptrdiff_t y_stride, float* out,
                 std::ptrdiff_t out_stride, std::size_t rows, std::size_t n, float* state) {
  HWY_DYNAMIC_DISPATCH(linear_scan)(x, x_stride, y, y_stride, out, out_stride, rows, n, state);
}

}  // namespace kiln::fast
#endif
