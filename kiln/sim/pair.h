// The cores of a rank, which meet in sendrecv and core_barrier.
#pragma once

#include <memory>
#include <vector>

#include "kiln/sim/core.h"

namespace kiln::sim {

// Runs all cores to their end (true), or until all wait in the same collective (false); `races` learns of their
// meetings. A core that waits for nobody is reported as a deadlock, with the reason.
bool run_to_collective(const std::vector<std::unique_ptr<Core>>& cores, const Arch& arch, Races& races);

}  // namespace kiln::sim
