#include "kiln/analysis/time_index.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kiln::analysis {

TimeIndex::TimeIndex(std::span<const Interval> intervals)
    : leaves_(std::bit_ceil(std::max<std::size_t>(intervals.size(), 1))),
      order_(intervals.size()),
      rank_(intervals.size()),
      last_(intervals.size()),
      in_set_(intervals.size(), 0),
      head_(2 * leaves_, isa::kNone) {
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](auto a, auto b) { return intervals[a].begin < intervals[b].begin; });
  for (std::uint32_t r = 0; r < order_.size(); ++r) rank_[order_[r]] = r;
  for (std::uint32_t i = 0; i < intervals.size(); ++i) {
    const auto after = std::upper_bound(order_.begin(), order_.end(), intervals[i].end,
                                        [&](Position p, auto j) { return p < intervals[j].begin; });
    last_[i] = static_cast<std::uint32_t>(after - order_.begin()) - 1;
  }
}

void TimeIndex::insert(std::uint32_t i) {
  in_set_[rank_[i]] = 1;
  const auto hang = [&](std::size_t node) {
    links_.push_back({i, head_[node]});
    head_[node] = static_cast<std::uint32_t>(links_.size() - 1);
  };
  std::size_t low = leaves_ + rank_[i], high = leaves_ + last_[i] + 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) hang(low++);
    if (high & 1) hang(--high);
  }
}

void TimeIndex::clear() {
  std::fill(in_set_.begin(), in_set_.end(), 0);
  std::fill(head_.begin(), head_.end(), isa::kNone);
  links_.clear();
}

}  // namespace kiln::analysis
