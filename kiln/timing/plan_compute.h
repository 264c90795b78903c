// How long an instruction of a compute engine takes at full speed, and which memory ports it needs.
#pragma once

#include "kiln/isa/semantics/cost.h"
#include "kiln/timing/op.h"

namespace kiln::timing {

void plan_compute(Op& op, const isa::CostQuery& q);

}  // namespace kiln::timing
