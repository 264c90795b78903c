// Computes the values of an instruction, and looks at them.
#pragma once

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/first_nonfinite.h"

namespace kiln::sim {

// `nonfinite` may be null.
void compute(isa::Run& run, FirstNonfinite* nonfinite);

}  // namespace kiln::sim
