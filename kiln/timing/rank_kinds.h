// RankKinds: the ranks of a launch by what they do and whom they meet. Ranks of one kind run the same programs and meet
// ranks of the same kinds in the same collectives, so their times are the same: one of each kind is timed.
#pragma once

#include <string>
#include <vector>

#include "kiln/isa/launch.h"

namespace kiln::timing {

struct RankKinds {
  std::vector<int> kind_of;                // by rank
  std::vector<std::vector<int>> ranks_of;  // by kind, ascending; kinds in order of their first rank

  int count() const { return static_cast<int>(ranks_of.size()); }
  int first(int kind) const { return ranks_of[static_cast<std::size_t>(kind)].front(); }
};

RankKinds rank_kinds(const isa::Launch& launch);

// The programs that are timed: those of the first rank of each kind, core by core.
std::vector<const isa::Program*> timed_programs(const isa::Launch& launch, const RankKinds& kinds);

// "rank 3", "ranks 0-3, 8"
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace kiln::timing
