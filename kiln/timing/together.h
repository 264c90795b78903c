// Together: cores that are timed side by side. Each goes on until it meets others, the core beside it or other ranks;
// when all are there, each knows when.
#pragma once

#include <vector>

#include "kiln/timing/make_timeline.h"
#include "kiln/timing/rank_kinds.h"

namespace kiln::timing {

struct TimedRanks {
  const isa::Launch& launch;
  const RankKinds& kinds;
  const Arch& arch;
};

// Runs all to their end. Throws Error when some wait for what does not come.
void run_together(std::vector<CoreRun>& runs, const TimedRanks& ranks);

}  // namespace kiln::timing
