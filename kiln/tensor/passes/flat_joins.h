// Flat joins: a value that was written place by place (out[t] = ..., each of which joins what was there with the new
// part) is one join of all parts.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_flat_joins(const Graph& graph);

}  // namespace kiln::tensor
