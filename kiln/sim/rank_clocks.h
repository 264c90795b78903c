// What each rank knows of the others: a vector clock per rank that counts the collectives it has entered. Ranks that
// meet in a collective know afterwards that all of them have entered it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kiln::sim {

class RankClocks {
 public:
  explicit RankClocks(int ranks) : clocks_(ranks, std::vector<std::int64_t>(ranks)) {}

  // A rank enters one more; returns how many that are.
  std::int64_t enter(int rank) { return ++clocks_[rank][rank]; }
  // How many collectives of another rank this one knows to be entered.
  std::int64_t known(int rank, int of) const { return clocks_[rank][of]; }
  // The ranks have met.
  void meet(const std::vector<int>& ranks);

 private:
  std::vector<std::vector<std::int64_t>> clocks_;
};

}  // namespace kiln::sim
