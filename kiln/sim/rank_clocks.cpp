#include "kiln/sim/rank_clocks.h"

namespace kiln::sim {

void RankClocks::meet(const std::vector<int>& ranks) {
  std::vector<std::int64_t> latest(clocks_.size());
  for (const int rank : ranks) {
    for (std::size_t i = 0; i < latest.size(); ++i) latest[i] = std::max(latest[i], clocks_[rank][i]);
  }
  for (const int rank : ranks) clocks_[rank] = latest;
}

}  // namespace kiln::sim
