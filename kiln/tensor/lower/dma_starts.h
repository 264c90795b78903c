// Programs that wait for the starts of their DMAs (rewrite/dma_starts.h).
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"

namespace kiln::tensor {

// Whether starting its DMAs one by one is much of the time that a program takes.
bool waits_for_starts(const isa::Program& program, const Arch& chip, double time_ns);

}  // namespace kiln::tensor
