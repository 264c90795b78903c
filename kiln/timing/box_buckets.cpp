#include "kiln/timing/box_buckets.h"

#include <algorithm>
#include <limits>

namespace kiln::timing {

namespace {

constexpr std::size_t kMostBuckets = 4;  // of one box, unless it is wide

// The boxes along one dimension: from where to where, and how much of that they cover on average.
struct Extent {
  std::int64_t lo = std::numeric_limits<std::int64_t>::max(), hi = std::numeric_limits<std::int64_t>::min();
  double covered = 0;
  double share() const { return hi > lo ? covered / static_cast<double>(hi - lo) : 1e300; }
};

Extent extent_of(int axis, std::uint32_t count, BoxBuckets::BoxOf box_of) {
  Extent all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Box& box = box_of(i);
    all.lo = std::min(all.lo, box.lo[axis]);
    all.hi = std::max(all.hi, box.hi[axis]);
    all.covered += static_cast<double>(box.hi[axis] - box.lo[axis]);
  }
  return all;
}

}  // namespace

void BoxBuckets::clear() {
  for (auto& bucket : buckets_) bucket.clear();
  wide_.clear();
  known_ = built_for_ = 0;
}

// What lies outside of the range that the buckets were made for stands in the first or the last.
BoxBuckets::Range BoxBuckets::range_of(const Box& box) const {
  const auto most = static_cast<std::int64_t>(buckets_.size()) - 1;
  const auto bucket = [&](std::int64_t at) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>((at - origin_) / width_, 0, most));
  };
  return {bucket(box.lo[axis_]), bucket(std::max(box.lo[axis_], box.hi[axis_] - 1))};
}

void BoxBuckets::add(std::uint32_t position, const Box& box) {
  const auto [first, last] = range_of(box);
  if (last - first >= kMostBuckets) return wide_.push_back(position);
  for (std::size_t b = first; b <= last; ++b) buckets_[b].push_back(position);
}

void BoxBuckets::build(std::uint32_t count, BoxOf box_of) {
  Extent best = extent_of(0, count, box_of);
  axis_ = 0;
  for (int d = 1; d < box_of(0).rank; ++d) {
    const Extent extent = extent_of(d, count, box_of);
    if (extent.share() < best.share()) best = extent, axis_ = d;
  }
  clear();
  built_for_ = count;
  buckets_.resize(count);
  origin_ = best.lo;
  width_ = std::max<std::int64_t>(1, (best.hi - best.lo) / count);
}

std::vector<std::uint32_t> BoxBuckets::overlapping(const Box& box, std::uint32_t count, BoxOf box_of) {
  std::vector<std::uint32_t> found;
  if (count == 0) return found;
  const auto look = [&](std::uint32_t i) {
    if (box_of(i).overlaps(box)) found.push_back(i);
  };
  if (count >= 2 * built_for_) build(count, box_of);
  for (; known_ < count; ++known_) add(known_, box_of(known_));
  const auto [first, last] = range_of(box);
  for (std::size_t b = first; b <= last; ++b) std::ranges::for_each(buckets_[b], look);
  std::ranges::for_each(wide_, look);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace kiln::timing
