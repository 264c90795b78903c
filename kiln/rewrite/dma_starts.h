// Who starts the DMAs of a program. A program that leaves it open has one queue of hardware descriptors start them all,
// one every 600 ns; software starts them sooner, on gpsimd.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"

namespace kiln::rewrite {

// Has software start all DMAs that leave it open and that it may start.
void start_by_software(isa::Program& program, const Arch& chip);

}  // namespace kiln::rewrite
