// How long a program takes, for choosing between programs: long loops are timed for a few passes, and what one more
// pass takes stands for the rest.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::tensor {

// The program has passed check.
double quick_time_ns(const isa::Program& program);

}  // namespace kiln::tensor
