// How long an instruction of the tensor engine takes at full speed, and which part of the array it occupies.
#pragma once

#include "kiln/isa/semantics/cost.h"
#include "kiln/timing/op.h"

namespace kiln::timing {

void plan_tensor(Op& op, const isa::CostQuery& q);

}  // namespace kiln::timing
