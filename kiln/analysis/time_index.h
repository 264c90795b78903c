// TimeIndex: which intervals of a set overlap a given one, without looking at all of them.
#pragma once

#include <span>
#include <vector>

#include "kiln/analysis/liveness.h"

namespace kiln::analysis {

// Made for a fixed list of intervals, of which some are in the set. A segment tree over the order of
// beginnings answers "who is alive where i begins"; everything else that overlaps i begins inside i.
class TimeIndex {
 public:
  explicit TimeIndex(std::span<const Interval> intervals);

  void insert(std::uint32_t i);
  void clear();

  // Calls fn(j) for every j in the set that overlaps i, each once.
  template <class Fn>
  void for_each_overlapping(std::uint32_t i, Fn&& fn) const {
    for (std::size_t node = leaves_ + rank_[i]; node > 0; node /= 2) {
      for (std::uint32_t link = head_[node]; link != isa::kNone; link = links_[link].next) {
        if (links_[link].item != i) fn(links_[link].item);
      }
    }
    for (std::uint32_t r = rank_[i] + 1; r <= last_[i]; ++r) {
      if (in_set_[r]) fn(order_[r]);
    }
  }

 private:
  struct Link {
    std::uint32_t item, next;
  };
  std::size_t leaves_;
  std::vector<std::uint32_t> order_;  // intervals by begin
  std::vector<std::uint32_t> rank_;   // place of an interval in order_
  std::vector<std::uint32_t> last_;   // rank of the last interval that begins inside it
  std::vector<char> in_set_;          // by rank
  std::vector<std::uint32_t> head_;   // by node of the tree: first link
  std::vector<Link> links_;
};

}  // namespace kiln::analysis
