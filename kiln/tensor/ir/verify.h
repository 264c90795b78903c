// Whether a graph is one: operands before users, types as inferred, outputs that are there. After each pass.
#pragma once

#include <string>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// Throws Error (category internal) that names the pass and holds the graph as text.
void verify(const Graph& graph, const std::string& pass);

}  // namespace kiln::tensor
