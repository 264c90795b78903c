// A timed run that was made up rather than simulated: views must show what a timeline holds, whatever it is.
#pragma once

#include <memory>
#include <string>

#include "kiln/timing/timed_run.h"

namespace kiln::views {

struct MadeRun {
  std::unique_ptr<isa::Program> program;
  std::string text;  // of the program
  timing::TimedRun run;
};

// `events` events at random times on three engines and two queues; those of the queues may overlap. Every
// tenth is on the critical path.
MadeRun make_run(std::size_t events, unsigned seed);

// Two matmuls, a copy out of PSUM and the DMAs around them; times as in the comments of made_run.cpp.
MadeRun small_run();

}  // namespace kiln::views
