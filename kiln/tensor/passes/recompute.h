// Recompute: what a few elementwise ops make of one operand that lies in HBM anyway is computed once more by a region
// that reads it, instead of being stored for it.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph recomputed(const Graph& graph);

}  // namespace kiln::tensor
