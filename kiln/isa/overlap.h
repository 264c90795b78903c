// Do two accesses touch the same bytes?
#pragma once

#include "kiln/isa/program.h"

namespace kiln::isa {

// True when two accesses of one tensor share some bytes without being the same elements in the same order.
// Accesses whose offsets move differently with the loops, or at run time, are compared when their addresses
// are known (by the simulator).
bool overlaps_partially(const Program& program, const Access& a, const Access& b);

}  // namespace kiln::isa
