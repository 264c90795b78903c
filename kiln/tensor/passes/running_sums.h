// Running sums: a loop whose passes each leave a row, of which only the sum is read, adds the rows up as they come.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_running_sums(const Graph& graph);

}  // namespace kiln::tensor
