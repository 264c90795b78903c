// Computes the values of an instruction, and looks at them.
#pragma once

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/first_nonfinite.h"
#include "kiln/sim/operand.h"

namespace kiln::sim {

// `nonfinite` may be null.
void compute(isa::Run& run, FirstNonfinite* nonfinite);

// The same, and keeps in mind the largest magnitude of the storages it writes to: what is overwritten need not be
// looked at again. By whichever thread, as long as nobody else uses what it writes to.
void compute_here(isa::Run& run, FirstNonfinite* nonfinite, const Operands& operands);

// Whoever writes to storages in another way says so first, in the order of the program.
void forget_largest(const isa::Run& run, const Operands& operands);

}  // namespace kiln::sim
