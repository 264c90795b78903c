// Access functions: a view of a view that is no affine pattern of its storage gets a copy in between, so that every
// view that is left is one.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph split_views(const Graph& graph);

}  // namespace kiln::tensor
