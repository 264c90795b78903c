#include "kiln/analysis/free_runs.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace kiln::analysis {

namespace {
constexpr std::size_t kFew = 128;
}

void FreeRuns::grow_tree() {
  leaves_ = static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(std::max(places_, 1))));
  nodes_.resize(2 * static_cast<std::size_t>(leaves_));
  for (std::int32_t size = 1; size <= leaves_; size *= 2) {
    const auto first = static_cast<std::size_t>(leaves_ / size);
    for (std::size_t n = first; n < 2 * first; ++n) nodes_[n] = {0, size, size, size};
  }
  take(places_, leaves_, 1);  // places that there are not
  for (const auto& [begin, end] : std::exchange(taken_, {})) take(begin, end, 1);
}

void FreeRuns::take(const Part& part, std::int32_t begin, std::int32_t end, int step) {
  if (end <= part.begin || part.end <= begin) return;
  if (begin <= part.begin && part.end <= end) {
    nodes_[part.node].taken += step;
  } else {
    take(part.left(), begin, end, step);
    take(part.right(), begin, end, step);
  }
  sum_up(part);
}

void FreeRuns::sum_up(const Part& part) {
  Node& node = nodes_[part.node];
  const std::int32_t size = part.end - part.begin;
  if (node.taken > 0) {
    node.before = node.after = node.longest = 0;
  } else if (size == 1) {
    node.before = node.after = node.longest = 1;
  } else {
    const Node &left = nodes_[2 * part.node], &right = nodes_[2 * part.node + 1];
    node.before = left.before == size / 2 ? size / 2 + right.before : left.before;
    node.after = right.after == size / 2 ? size / 2 + left.after : right.after;
    node.longest = std::max({left.longest, right.longest, left.after + right.before});
  }
}

void FreeRuns::take_few(Taken run, int step) {
  const auto at = std::lower_bound(taken_.begin(), taken_.end(), run);
  step > 0 ? void(taken_.insert(at, run)) : void(taken_.erase(at));
  if (taken_.size() > kFew) grow_tree();
}

std::int32_t FreeRuns::find_few(std::int32_t count) const {
  std::int32_t free = 0;  // from here to the next one that is taken
  for (const auto& [begin, end] : taken_) {
    if (begin - free >= count) return free;
    free = std::max(free, end);
  }
  return places_ - free >= count ? free : -1;
}

std::int32_t FreeRuns::find(std::int32_t count) const {
  if (count <= 0) return 0;
  if (nodes_.empty()) return find_few(count);
  Part part{1, 0, leaves_};
  if (nodes_[1].longest < count) return -1;
  while (nodes_[part.node].before < count) {
    const Node &left = nodes_[2 * part.node], &right = nodes_[2 * part.node + 1];
    if (left.longest >= count) {
      part = part.left();
    } else if (left.after + right.before >= count) {
      return part.middle() - left.after;
    } else {
      part = part.right();
    }
  }
  return part.begin;
}

}  // namespace kiln::analysis
