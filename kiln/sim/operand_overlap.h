// Sources and destinations whose addresses move, and tensors placed over each other: what the checker could
// not compare is compared here.
#pragma once

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/operand.h"

namespace kiln::sim {

// A source and a destination of an instruction are the same elements, or share none.
void check_overlaps(const isa::Run& run, const Operands& operands);

}  // namespace kiln::sim
