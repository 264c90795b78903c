// Do two accesses touch the same bytes?
#pragma once

#include "kiln/isa/program.h"

namespace kiln::isa {

// True when two accesses share some bytes without being the same elements in the same order. Two tensors can
// share bytes when both are placed by hand. Accesses whose offsets move differently with the loops, or at run
// time, are compared when their addresses are known (by the simulator).
bool overlaps_partially(const Program& program, const Access& a, const Access& b);

// Instructions all of whose reads come before their writes: those that the manual lets work in place on any
// rows, and reductions of a partition to one value.
bool reads_all_first(const Program& program, const Instruction& inst);

// Whether an access reaches an element in more than one way through its dimensions from `first_dim` on.
bool meets_itself(const Access& access, int first_dim);

}  // namespace kiln::isa
