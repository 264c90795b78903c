// Row sums: products of ones with all rows of a value, which is how decompose writes sums along the first axes. The
// region that has the rows adds them up, one block after the other.
#pragma once

#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

// Gives them to such regions, before these are in order.
void take_row_sums(const Graph& graph, Fusion& fusion);
bool is_row_sum(const Fusion& fusion, Value v);

}  // namespace kiln::tensor
