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

constexpr std::size_t kLine = 64 / sizeof(float);

// Brings the rows of the next group near while this one is folded. Memory likes to be read row after row; the
// fold reads kSide rows side by side.
class NextRows {
 public:
  NextRows(const float* first, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n)
      : row_(first), row_stride_(row_stride), rows_left_(rows), n_(n) {}

  // Asks for as many lines as one step of the fold reads.
  HWY_INLINE void fetch() {
    if (rows_left_ == 0) return;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kSide; ++k) __builtin_prefetch(row_ + column_ + k * kLine, 0, 2);
    column_ += kSide * kLine;
    if (column_ < n_) return;
    column_ = 0;
    row_ += row_stride_;
    --rows_left_;
  }

 private:
  const float* row_;
  std::ptrdiff_t row_stride_;
  std::size_t rows_left_, n_, column_ = 0;
};

// One square from kSide rows: transposed in registers, then its columns applied one after the other.
template <AluOp kOp>
HWY_INLINE hn::Vec<Square> fold_square(const float* const* rows, std::size_t i, hn::Vec<Square> sum) {
  const Square d;
  hn::Vec<Square> v[kSide];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kSide; ++r) v[r] = hn::LoadU(d, rows[r] + i);
  transpose_square(v);
#pragma GCC unroll 8
  for (std::size_t c = 0; c < kSide; ++c) sum = Arith<kOp>()(d, sum, v[c]);
  return sum;
}

// Folds kSide rows at once, one row per lane, so every row keeps its ascending order.
template <AluOp kOp>
HWY_INLINE void fold_group(const float* const* rows, std::size_t n, NextRows next, float* acc) {
  const Square d;
  auto sum = hn::LoadU(d, acc);
  std::size_t i = 0;
  for (; i + kLine <= n; i += kLine) {
    next.fetch();
#pragma GCC unroll 4
    for (std::size_t part = i; part < i + kLine; part += kSide) sum = fold_square<kOp>(rows, part, sum);
  }
  for (; i + kSide <= n; i += kSide) sum = fold_square<kOp>(rows, i, sum);
  for (; i < n; ++i) {
    float column[kSide];
    for (std::size_t r = 0; r < kSide; ++r) column[r] = rows[r][i];
    sum = Arith<kOp>()(d, sum, hn::LoadU(d, column));
  }
  hn::StoreU(sum, d, acc);
}

// The last group may be short: its missing rows repeat the first one and their results are dropped.
template <AluOp kOp>
void fold_ordered(const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
  for (std::size_t r = 0; r < rows; r += kSide) {
    const std::size_t count = std::min(kSide, rows - r);
    const float* group = x + static_cast<std::ptrdiff_t>(r) * row_stride;
    const float* row[kSide];
    float sum[kSide];
    for (std::size_t k = 0; k < kSide; ++k) {
      const std::size_t used = k < count ? k : 0;
      row[k] = group + static_cast<std::ptrdiff_t>(used) * row_stride;
      sum[k] = acc[r + used];
    }
    const std::size_t rows_after = std::min(kSide, rows - r - count);
    const float* after = rows_after == 0 ? group : group + static_cast<std::ptrdiff_t>(kSide) * row_stride;
    fold_group<kOp>(row, n, NextRows(after, row_stride, rows_after, n), sum);
    std::memcpy(acc + r, sum, count * sizeof(float));
  }
}

// maximum and minimum give the same value in any order and however often an element takes part, so they run
// along the row in independent lanes and the last vector may overlap the one before. n is at least a vector.
template <class Fn>
HWY_INLINE float fold_lanes(const Fn fn, const float* row, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto v0 = hn::LoadU(d, row + n - lanes), v1 = v0, v2 = v0, v3 = v0;
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    v0 = fn(d, v0, hn::LoadU(d, row + i));
    v1 = fn(d, v1, hn::LoadU(d, row + i + lanes));
    v2 = fn(d, v2, hn::LoadU(d, row + i + 2 * lanes));
    v3 = fn(d, v3, hn::LoadU(d, row + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) v0 = fn(d, v0, hn::LoadU(d, row + i));
  v0 = fn(d, fn(d, v0, v1), fn(d, v2, v3));
  // Each reversal halves the number of lanes that differ.
  v0 = fn(d, v0, hn::Reverse(d, v0));
  if constexpr (hn::MaxLanes(d) >= 8) v0 = fn(d, v0, hn::Reverse8(d, v0));
  v0 = fn(d, v0, hn::Reverse4(d, v0));
  v0 = fn(d, v0, hn::Reverse2(d, v0));
  return hn::GetLane(v0);
}

// One operation of the processor, which is the operator but for zeros and NaN.
template <AluOp kOp>
struct Nearly {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V y) const {
    return kOp == AluOp::maximum ? hn::Max(x, y) : hn::Min(x, y);
  }
};

// Looks at the sums of two: one of NaN is NaN, and so is one of opposite infinities. n is at least a vector.
bool may_have_nan(const float* row, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto found = hn::IsNaN(hn::LoadU(d, row + n - lanes));
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes)
    found = hn::Or(found, hn::IsNaN(hn::Add(hn::LoadU(d, row + i), hn::LoadU(d, row + i + lanes))));
  if (i + lanes <= n) found = hn::Or(found, hn::IsNaN(hn::LoadU(d, row + i)));
  return !hn::AllFalse(d, found);
}

template <AluOp kOp>
float fold_any_order(const float* row, std::size_t n, float start) {
  const float nearly = fold_lanes(Nearly<kOp>(), row, n);
  const bool certain = nearly != 0 && !may_have_nan(row, n);
  return plain::arith(kOp, start, certain ? nearly : fold_lanes(Arith<kOp>(), row, n));
}

template <AluOp kOp>
void fold_unordered(const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
  if (n < hn::Lanes(hn::ScalableTag<float>())) return fold_ordered<kOp>(x, row_stride, rows, n, acc);
  for (std::size_t r = 0; r < rows; ++r)
    acc[r] = fold_any_order<kOp>(x + static_cast<std::ptrdiff_t>(r) * row_stride, n, acc[r]);
}

// Logical operators give the same in any order. Their results come from which elements are zero: whether one is,
// whether one is not, whether an odd number is not.
template <AluOp kOp>
bool fold_truth(const float* row, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const auto look_at = [&](hn::Vec<decltype(d)> x)
                           HWY_ATTR { return kOp == AluOp::logical_and ? hn::Eq(x, zero) : hn::Not(hn::Eq(x, zero)); };
  const auto together = [](auto a, auto b)
                            HWY_ATTR { return kOp == AluOp::logical_xor ? hn::Xor(a, b) : hn::Or(a, b); };
  auto found = hn::FirstN(d, 0), second = found;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    found = together(found, look_at(hn::LoadU(d, row + i)));
    second = together(second, look_at(hn::LoadU(d, row + i + lanes)));
  }
  for (; i < n; i += lanes) {
    const auto exists = hn::FirstN(d, n - i);
    found = together(found, hn::And(exists, look_at(hn::MaskedLoad(exists, d, row + i))));
  }
  found = together(found, second);
  return kOp == AluOp::logical_xor ? hn::CountTrue(d, found) % 2 != 0 : !hn::AllFalse(d, found);
}

template <AluOp kOp>
void fold_logical(const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
  for (std::size_t r = 0; r < rows && n > 0; ++r) {
    const bool found = fold_truth<kOp>(x + static_cast<std::ptrdiff_t>(r) * row_stride, n), before = acc[r] != 0;
    acc[r] = kOp == AluOp::logical_and  ? before && !found
             : kOp == AluOp::logical_or ? before || found
                                        : before != found;
  }
}

// False for an operator that is left to the plain kernel.
bool fold_rows(AluOp op, const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
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
    case AluOp::logical_and:
      fold_logical<AluOp::logical_and>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::logical_or:
      fold_logical<AluOp::logical_or>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::logical_xor:
      fold_logical<AluOp::logical_xor>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::abs_max:
      fold_ordered<AluOp::abs_max>(x, row_stride, rows, n, acc);
      return true;
    case AluOp::abs_min:
      fold_ordered<AluOp::abs_min>(x, row_stride, rows, n, acc);
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

void fold_rows(AluOp op, const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
  if (!HWY_DYNAMIC_DISPATCH(fold_rows)(op, x, row_stride, rows, n, acc))
    plain::fold_rows(op, x, row_stride, rows, n, acc);
}

}  // namespace kiln::fast
#endif
