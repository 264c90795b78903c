// Static loops written out: both front ends of the vendor do so, and its compiler never sees them.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::vendor {

// Whether a program has static loops alone that come to no more than `most` statements, the passes of empty loops
// counted too.
bool can_be_written_out(const isa::Program& program, double most);

}  // namespace kiln::vendor
