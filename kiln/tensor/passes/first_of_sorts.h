// The first of sorts: a sort of which only the beginning or the end is read is a search for the largest few.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph first_of_sorts(const Graph& graph);

}  // namespace kiln::tensor
