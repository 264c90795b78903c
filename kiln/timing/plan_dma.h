// How long a DMA's trigger and transfer take alone on the machine, and what they need of what all DMAs share.
#pragma once

#include "kiln/isa/semantics/cost.h"
#include "kiln/timing/op.h"

namespace kiln::timing {

// DMAs of which `count` become one share what does not grow with their bytes; each still starts, unless all load the
// same and `starts` of them become one start and one transfer.
struct Merge {
  double count = 1, starts = 1;
};

// `turn`: of DMAs that leave their queue to the compiler, which one it is.
void plan_dma(Op& op, const isa::CostQuery& q, const Merge& merge, int turn);

}  // namespace kiln::timing
