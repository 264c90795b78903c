// Passes on programs whose ops have bodies.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// The graph with the pass made on all bodies too.
Graph with_bodies(const Graph& graph, Graph (*pass)(const Graph&));

// Calls replaced by what they call, in bodies too.
Graph inlined(const Graph& graph);

}  // namespace kiln::tensor
