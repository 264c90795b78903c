// A launch whose ranks several processes run: what each has of it, and what all have at its end.
#pragma once

#include <span>
#include <string>

#include "kiln/isa/launch.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/processes.h"

namespace kiln::sim {

// All programs, as text.
std::string text_of(const isa::Launch& launch);

// The ranks of this process; all of them when there is only one (null).
isa::Launch own_ranks(const isa::Launch& launch, const Processes* processes);

// When all ranks have ended: what they wrote goes to the processes that have buffers for it, and the counts of the
// report are those of all. No process is back before every one is here.
void share_results(Processes& processes, const isa::Launch& launch, std::span<const Buffers> of_ranks,
                   RunReport& report);

}  // namespace kiln::sim
