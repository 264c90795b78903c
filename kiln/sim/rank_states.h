// Where the ranks of all processes are, told by each for its own.
#pragma once

#include <vector>

#include "kiln/isa/launch.h"
#include "kiln/sim/ranks.h"

namespace kiln::sim {

// Brings the ranks of other processes up to date; returns whether a rank of any process has moved. `moved`: whether
// one of this process has.
bool share_states(Processes& processes, const isa::Launch& launch, const std::vector<Rank*>& ranks, bool moved);

}  // namespace kiln::sim
