// How often loops run, as the program or the options say, and how many instructions that executes.
#pragma once

#include "kiln/timing/simulate.h"

namespace kiln::timing {

// Throws Error when neither tells.
std::int64_t trips(const isa::Program& program, isa::LoopId id, const TimingOptions& options);

double executed_instructions(const isa::Program& program, const isa::Block& block, const TimingOptions& options);

}  // namespace kiln::timing
