// Live intervals as a scheduler can shorten them.
#pragma once

#include "kiln/analysis/liveness.h"

namespace kiln::check {

// The compiler keeps the order of what depends on each other and no other. A kernel may fill more PSUM
// tensors than there is room for before it reads the first one: the reads then move up to where what they
// need is there. Gives the intervals with that done for PSUM tensors that have no address; programs with
// loops are left as they are.
analysis::Liveness read_early(const isa::Program& program, const analysis::Liveness& liveness);

}  // namespace kiln::check
