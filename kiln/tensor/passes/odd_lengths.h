// Odd lengths: what is computed along one long dimension lies on all partitions only if its length is a multiple of
// many of them. Where it is not, all but the last few elements are computed as 128 rows, and the others by themselves.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_even_lengths(const Graph& graph);

}  // namespace kiln::tensor
