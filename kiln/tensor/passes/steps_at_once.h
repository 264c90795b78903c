// Steps at once: a recurrence element by element that is written out step by step, and what each step makes of its
// state where that is joined again, are computed for all steps at once.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_steps_at_once(const Graph& graph);

}  // namespace kiln::tensor
