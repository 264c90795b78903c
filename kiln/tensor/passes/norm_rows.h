// Norm rows: a norm of which a row does not lie beside the next one, or whose factors belong to other dimensions than
// the norm does, sees rows: batch norm, and group norm with a gain for each channel.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_norm_rows(const Graph& graph);

}  // namespace kiln::tensor
