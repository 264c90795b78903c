// Collectives become kernels of their own (collective_kernel.h), which the program goes on with. Instructions work
// along the first dimension; transposes bring other axes there.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/tensor/passes/collective_kernel.h"

namespace kiln::tensor {

bool has_collectives(const Graph& graph);  // in bodies too
Graph with_collective_kernels(const Graph& graph, Target target);

// On a pair of cores. Whether an op calls a kernel in which ranks meet, and the kernel of one core.
bool meets_in_kernel(const Op& op);
std::shared_ptr<const isa::Program> kernel_of_core(const isa::Program& kernel, const PairPart& part);
// The share that a core brings of what is sent.
Share share_to_send(const Type& sent);
// A body with the kernels of one core, which has wholes.
Graph with_pair_kernels(const Graph& body, int core);

}  // namespace kiln::tensor
