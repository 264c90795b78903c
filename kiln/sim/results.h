// What a run has left in the tensors that the caller gets back.
#pragma once

#include "kiln/isa/launch.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/origins.h"

namespace kiln::sim {

// Of one rank: `launch` has its programs.
// What depends on bytes that were never written and still lies in an output is an error. Padding of scale tiles that
// was copied out becomes 0, with a warning.
void check_arrivals(const isa::Launch& launch, int rank, const SharedTensors& shared, const Origins& origins,
                    RunReport& report);

// Warns of outputs that the program did not write whole. With `fill` their missing elements get values that cannot be
// mistaken for results.
void warn_unwritten(const isa::Launch& launch, const SharedTensors& shared, bool fill, RunReport& report);

}  // namespace kiln::sim
