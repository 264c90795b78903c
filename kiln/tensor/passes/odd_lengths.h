// Odd lengths: what is computed along one long dimension, or along few long rows, lies on all partitions only if its
// length is a multiple of many of them. Where it is not, all but the last few elements of each are computed as 128 rows
// altogether, and the others by themselves.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_even_lengths(const Graph& graph);

}  // namespace kiln::tensor
