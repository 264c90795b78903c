// Order: whether the compiler that reorders is asked for a program.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::timing {

// Loops that hand results on through HBM: the compiler that reorders lets them wait for each other.
bool has_scratch(const isa::Program& program);

}  // namespace kiln::timing
