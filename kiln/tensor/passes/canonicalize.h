// Canonicalize: equal ops become one, constants are folded, views of views become one view, and chains that are one
// function of the chip are written as that function.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph canonicalize(const Graph& graph);

}  // namespace kiln::tensor
