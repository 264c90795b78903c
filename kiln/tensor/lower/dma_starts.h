// Who starts the DMAs of a program. A program leaves it open, and one queue of hardware descriptors starts them all,
// one every 600 ns; software starts them sooner, on gpsimd.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"

namespace kiln::tensor {

// Whether starting its DMAs one by one is much of the time that a program takes.
bool waits_for_starts(const isa::Program& program, const Arch& chip, double time_ns);

// Has software start all DMAs that it may start.
void start_by_software(isa::Program& program, const Arch& chip);

}  // namespace kiln::tensor
