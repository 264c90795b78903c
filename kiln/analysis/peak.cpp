#include "kiln/analysis/peak.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kiln::analysis {
namespace {

// Length of the union of byte ranges that come and go.
class Coverage {
 public:
  explicit Coverage(std::vector<std::int64_t> ends) : ends_(std::move(ends)) {
    const std::size_t ranges = ends_.empty() ? 0 : ends_.size() - 1;
    leaves_ = std::bit_ceil(std::max<std::size_t>(ranges, 1));
    count_.assign(2 * leaves_, 0);
    covered_.assign(2 * leaves_, 0);
  }

  // Adds (step 1) or takes away (step -1) the bytes [low, high), both among the ends.
  void add(std::int64_t low, std::int64_t high, int step) {
    if (low < high) add(1, 0, leaves_, index(low), index(high), step);
  }
  std::int64_t length() const { return covered_[1]; }

 private:
  std::size_t index(std::int64_t end) const {
    return static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), end) - ends_.begin());
  }
  std::int64_t end(std::size_t i) const { return ends_[std::min(i, ends_.size() - 1)]; }

  void add(std::size_t node, std::size_t from, std::size_t to, std::size_t low, std::size_t high, int step) {
    if (high <= from || to <= low) return;
    if (low <= from && to <= high) {
      count_[node] += step;
    } else {
      const std::size_t middle = (from + to) / 2;
      add(2 * node, from, middle, low, high, step);
      add(2 * node + 1, middle, to, low, high, step);
    }
    covered_[node] = count_[node] > 0 ? end(to) - end(from)
                     : node < leaves_ ? covered_[2 * node] + covered_[2 * node + 1]
                                      : 0;
  }

  std::vector<std::int64_t> ends_;  // sorted
  std::size_t leaves_;
  std::vector<int> count_;
  std::vector<std::int64_t> covered_;
};

// What is alive now.
class Level {
 public:
  Level(const Demands& demands, std::int64_t limit, int quadrants) : limit_(limit), quadrants_(quadrants) {
    std::vector<std::int64_t> ends;
    for (std::size_t i = 0; i < demands.size(); ++i) {
      const Demand& d = demands[i];
      if (!d.placed) continue;
      ends.push_back(std::min(d.offset, limit));
      ends.push_back(std::min(d.offset + d.bytes, limit));
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    fixed_.assign(quadrants, Coverage(std::move(ends)));
  }

  void add(const Demand& d, int step) {
    if (!d.placed) {
      free_bytes_ += step * d.bytes * d.quadrants;
      return;
    }
    for (int q = 0; q < quadrants_; ++q) {
      if (d.mask >> q & 1) {
        fixed_[q].add(std::min(d.offset, limit_), std::min(d.offset + d.bytes, limit_), step);
      }
    }
  }

  std::int64_t bytes() const {
    std::int64_t sum = free_bytes_;
    for (const Coverage& c : fixed_) sum += c.length();
    return (sum + quadrants_ - 1) / quadrants_;
  }

 private:
  std::int64_t limit_;
  int quadrants_;
  std::int64_t free_bytes_ = 0;
  std::vector<Coverage> fixed_;
};

std::vector<std::uint32_t> sorted_by(const Demands& demands, Position Interval::*key) {
  std::vector<std::uint32_t> order(demands.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return demands[a].live.*key < demands[b].live.*key; });
  return order;
}

}  // namespace

Peak find_peak(const Demands& demands, std::int64_t limit, int quadrants) {
  const auto by_begin = sorted_by(demands, &Interval::begin), by_end = sorted_by(demands, &Interval::end);
  Level level(demands, limit, quadrants);
  Peak peak;
  std::size_t gone = 0;
  for (std::size_t i = 0; i < by_begin.size();) {
    const Position now = demands[by_begin[i]].live.begin;
    for (; demands[by_end[gone]].live.end < now; ++gone) level.add(demands[by_end[gone]], -1);
    for (; i < by_begin.size() && demands[by_begin[i]].live.begin == now; ++i) level.add(demands[by_begin[i]], 1);
    if (level.bytes() > peak.bytes) peak = {level.bytes(), now};
  }
  return peak;
}

}  // namespace kiln::analysis
