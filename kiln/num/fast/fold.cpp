#include <algorithm>
#include <cstring>

#include "kiln/num/fast/fast.h"
#include "kiln/num/plain/arith.h"
#include "kiln/num/plain/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/fold.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/arith-inl.h"
#include "kiln/num/fast/square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Folds kSide rows at once, one row per lane: each square of the input is transposed in registers and its
// columns are applied one after the other, so every row keeps its ascending order.
template <AluOp kOp>
HWY_INLINE void fold_group(const float* const* rows, std::size_t n, float* acc) {
  const Square d;
  const Arith<kOp> fn;
  auto sum = hn::LoadU(d, acc);
  hn::Vec<Square> v[kSide];
  std::size_t i = 0;
  for (; i + kSide <= n; i += kSide) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kSide; ++r) v[r] = hn::LoadU(d, rows[r] + i);
    transpose_square(v);
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kSide; ++c) sum = fn(d, sum, v[c]);
  }
  if (i < n) {
    for (std::size_t r = 0; r < kSide; ++r) {
      float part[kSide] = {};
      std::memcpy(part, rows[r] + i, (n - i) * sizeof(float));
      v[r] = hn::LoadU(d, part);
    }
    transpose_square(v);
    for (std::size_t c = 0; i + c < n; ++c) sum = fn(d, sum, v[c]);
  }
  hn::StoreU(sum, d, acc);
}

// The last group may be short: its missing rows repeat the first one and their results are dropped.
template <AluOp kOp>
void fold_ordered(const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
  for (std::size_t r = 0; r < rows; r += kSide) {
    const std::size_t count = std::min(kSide, rows - r);
    const float* row[kSide];
    float sum[kSide];
    for (std::size_t k = 0; k < kSide; ++k) {
      const std::size_t used = k < count ? r + k : r;
      row[k] = x + static_cast<std::ptrdiff_t>(used) * row_stride;
      sum[k] = acc[used];
    }
    fold_group<kOp>(row, n, sum);
    std::memcpy(acc + r, sum, count * sizeof(float));
  }
}

// maximum and minimum give the same value in any order, so they run along the row in independent lanes.
template <AluOp kOp>
void fold_unordered(const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const Arith<kOp> fn;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* row = x + static_cast<std::ptrdiff_t>(r) * row_stride;
    auto v0 = hn::Set(d, acc[r]), v1 = v0, v2 = v0, v3 = v0;
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      v0 = fn(d, v0, hn::LoadU(d, row + i));
      v1 = fn(d, v1, hn::LoadU(d, row + i + lanes));
      v2 = fn(d, v2, hn::LoadU(d, row + i + 2 * lanes));
      v3 = fn(d, v3, hn::LoadU(d, row + i + 3 * lanes));
    }
    for (; i + lanes <= n; i += lanes) v0 = fn(d, v0, hn::LoadU(d, row + i));
    float part[hn::MaxLanes(d)];
    hn::StoreU(fn(d, fn(d, v0, v1), fn(d, v2, v3)), d, part);
    for (std::size_t k = 0; k < lanes && n >= lanes; ++k) acc[r] = plain::arith(kOp, acc[r], part[k]);
    for (; i < n; ++i) acc[r] = plain::arith(kOp, acc[r], row[i]);
  }
}

// False for an operator that is left to the plain kernel.
bool fold_rows(AluOp op, const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n,
               float* acc) {
  switch (op) {
    case AluOp::add:
      fold_ordered<AluOp::add>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::subtract:
      fold_ordered<AluOp::subtract>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::multiply:
      fold_ordered<AluOp::multiply>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::maximum:
      fold_unordered<AluOp::maximum>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::minimum:
      fold_unordered<AluOp::minimum>(x, row_stride, rows, n, acc);
      return true;
    default:
      return false;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(fold_rows);

void fold_rows(AluOp op, const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n,
               float* acc) {
  if (!HWY_DYNAMIC_DISPATCH(fold_rows)(op, x, row_stride, rows, n, acc))
    plain::fold_rows(op, x, row_stride, rows, n, acc);
}

}  // namespace kiln::fast
#endif
