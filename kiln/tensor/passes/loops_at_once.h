// Loops at once: a loop whose state is a recurrence element by element, or rows that its passes leave, is computed for
// all passes at once; what it reads by the number of the pass are slices.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_loops_at_once(const Graph& graph);

}  // namespace kiln::tensor
