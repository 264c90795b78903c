// Cores that run together and meet in sendrecv and core_barrier.
#pragma once

#include <memory>
#include <vector>

#include "kiln/sim/core.h"

namespace kiln::sim {

// Runs all cores to their end; `races` learns of their meetings. A core that waits for nobody is reported as a
// deadlock, with the reason.
void run_together(const std::vector<std::unique_ptr<Core>>& cores, const Arch& arch, Races& races);

}  // namespace kiln::sim
