#include "kernels/fft/host/row_sums.h"

#include <algorithm>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fft/host/row_sums.cpp"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fft {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kSums = 16, kPiece = 16 * kSums;  // side by side, and numbers of a piece
using Tag = hn::CappedTag<float, kSums>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag()), kVectors = kSums / kLanes;

template <int kParts>
HWY_INLINE hn::Vec<Tag> squares_at(const float* numbers, std::int64_t i) {
  const Tag d;
  if constexpr (kParts == 1) {
    const auto v = hn::LoadU(d, numbers + i);
    return hn::Mul(v, v);
  } else {
    hn::Vec<Tag> re, im;
    hn::LoadInterleaved2(d, numbers + 2 * i, re, im);
    return hn::Add(hn::Mul(re, re), hn::Mul(im, im));  // rounded twice, as everywhere
  }
}

// Up to a piece of numbers; what is left of whole sums goes to the first ones.
template <int kParts>
void add_piece(const float* numbers, std::int64_t count, RowSums& all) {
  const Tag d;
  hn::Vec<Tag> sums[kVectors], fourths[kVectors], most[kVectors];
  for (std::int64_t v = 0; v < kVectors; ++v) sums[v] = fourths[v] = most[v] = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const auto square = squares_at<kParts>(numbers, i + v * kLanes);
      sums[v] = hn::Add(sums[v], square);
      fourths[v] = hn::Add(fourths[v], hn::Mul(square, square));
      most[v] = hn::IfThenElse(hn::Lt(most[v], square), square, most[v]);  // NaN is not larger
    }
  }
  float of_sums[kSums], of_fourths[kSums], of_most[kSums];
  for (std::int64_t v = 0; v < kVectors; ++v) {
    hn::StoreU(sums[v], d, of_sums + v * kLanes);
    hn::StoreU(fourths[v], d, of_fourths + v * kLanes);
    hn::StoreU(most[v], d, of_most + v * kLanes);
  }
  for (; i < count; ++i) {
    const float* v = numbers + i * kParts;
    const float square = kParts == 2 ? v[0] * v[0] + v[kParts - 1] * v[kParts - 1] : v[0] * v[0];
    of_sums[0] += square;
    of_fourths[0] += square * square;
    of_most[0] = of_most[0] < square ? square : of_most[0];
  }
  all.squares += std::accumulate(of_sums, of_sums + kSums, 0.0);
  all.fourths += std::accumulate(of_fourths, of_fourths + kSums, 0.0);
  all.largest = std::max(all.largest, *std::max_element(of_most, of_most + kSums));
}

RowSums row_sums(const float* numbers, std::int64_t count, std::int64_t parts) {
  RowSums all;
  for (std::int64_t first = 0; first < count; first += kPiece) {
    const std::int64_t some = std::min(kPiece, count - first);
    parts == 2 ? add_piece<2>(numbers + 2 * first, some, all) : add_piece<1>(numbers + first, some, all);
  }
  return all;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fft {

HWY_EXPORT(row_sums);

RowSums row_sums(const float* numbers, std::int64_t count, std::int64_t parts) {
  return HWY_DYNAMIC_DISPATCH(row_sums)(numbers, count, parts);
}

}  // namespace kiln::fft
#endif
