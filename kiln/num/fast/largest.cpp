#include <algorithm>
#include <cstring>

#include "kiln/num/fast/fast.h"
#include "kiln/num/plain/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/largest.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's own has no lanes of a byte.
template <class D, class V, class T = hn::TFromD<D>>
T across(D d, V v) {
  if constexpr (sizeof(T) > 1) return hn::GetLane(hn::MaxOfLanes(d, v));
  alignas(64) T of_lanes[64 / sizeof(T)];
  hn::Store(v, d, of_lanes);
  return *std::max_element(of_lanes, of_lanes + hn::Lanes(d));
}

template <class T>
std::uint32_t largest_of(const T* x, std::size_t n) {
  constexpr std::size_t kSums = 4;  // side by side, so that one need not wait for the other
  constexpr auto kMagnitude = static_cast<T>(static_cast<T>(~T{0}) >> 1);
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), step = kSums * lanes;
  const auto magnitude = hn::Set(d, kMagnitude);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    a = hn::Max(a, hn::And(hn::LoadU(d, x + i), magnitude));
    b = hn::Max(b, hn::And(hn::LoadU(d, x + i + lanes), magnitude));
    c = hn::Max(c, hn::And(hn::LoadU(d, x + i + 2 * lanes), magnitude));
    e = hn::Max(e, hn::And(hn::LoadU(d, x + i + 3 * lanes), magnitude));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Max(a, hn::And(hn::LoadU(d, x + i), magnitude));
  T found = across(d, hn::Max(hn::Max(a, b), hn::Max(c, e)));
  for (T word; i < n; ++i) {  // x lies anywhere
    std::memcpy(&word, x + i, sizeof word);
    found = std::max(found, static_cast<T>(word & kMagnitude));
  }
  return found;
}

std::uint32_t largest(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n) {
  if (stride != 1) return plain::largest(size_bytes, src, stride, n);
  if (size_bytes == 1) return largest_of(static_cast<const std::uint8_t*>(src), n);
  if (size_bytes == 2) return largest_of(static_cast<const std::uint16_t*>(src), n);
  return largest_of(static_cast<const std::uint32_t*>(src), n);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(largest);

std::uint32_t largest(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(largest)(size_bytes, src, stride, n);
}

}  // namespace kiln::fast
#endif
