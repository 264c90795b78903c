// Collectives become kernels of their own, which the program goes on with: copies to tensors that ranks may exchange,
// the instruction, and a copy back. Instructions work along the first dimension; transposes bring other axes there.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

bool has_collectives(const Graph& graph);  // in bodies too
Graph with_collective_kernels(const Graph& graph, Target target);

}  // namespace kiln::tensor
