// How many instructions a tensor program needs at the least when every value lies in tiles as NKI has them: 128 rows of
// the last dimension, 128 x 128 of a stationary operand, a bank of PSUM of a result. What the executed instructions of
// a compiled program are compared with; programs that put several rows on a partition can have fewer.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// Of a graph after the passes.
double instructions_by_tile_limits(const Graph& graph, const Arch& chip);

}  // namespace kiln::tensor
