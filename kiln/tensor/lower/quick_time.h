// How long a program takes, for choosing between programs: long loops are timed for a few passes, and what one more
// pass takes stands for the rest.
#pragma once

#include "kiln/isa/launch.h"

namespace kiln::tensor {

// Its programs have passed check. One of at most `in_full` instructions is timed as it is.
double quick_time_ns(const isa::Launch& launch, double in_full = 600);

}  // namespace kiln::tensor
