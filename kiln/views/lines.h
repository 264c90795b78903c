// Time by source line: how long the instructions of a line keep the machine busy, and how much of the total
// hangs on them.
#pragma once

#include <string>
#include <vector>

#include "kiln/base/place.h"
#include "kiln/timing/timed_run.h"

namespace kiln::views {

using timing::TimedRun;

struct LineTime {
  Place place;
  bool foreign = false;         // its file is not ours to open: see SourceLoc
  std::string instructions;     // names of the instructions, as they come
  Engine engine;                // of the first one
  std::int64_t executions = 0;  // of instructions
  double busy_ns = 0;           // on engines and queues, triggers included
  double waiting_ns = 0;        // that its instructions kept their lane idle
  timing::Wait waits_for{};     // the most of it
  double critical_ns = 0;       // part of the critical path; all lines together: the total
};

// Every line with an event, in order of first appearance.
std::vector<LineTime> time_by_line(const TimedRun& run);

}  // namespace kiln::views
