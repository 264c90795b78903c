// From what the cores did to a Timeline.
#pragma once

#include <memory>
#include <vector>

#include "kiln/timing/walk.h"

namespace kiln::timing {

struct CoreRun {
  std::unique_ptr<CoreModel> core;
  std::unique_ptr<Walk> walk;
};

struct TimedRanks;  // together.h

Timeline make_timeline(std::vector<CoreRun>& runs, const TimedRanks& ranks, const TimingOptions& options);

}  // namespace kiln::timing
