// The compiler option --disable-dge: descriptors are made before the kernel runs.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::vendor {

// DMAs whose descriptors the kernel leaves open and whose addresses are known get static ones.
void disable_dge(isa::Program& program);

}  // namespace kiln::vendor
