// Turn columns: a norm or a softmax along an axis that is not the last one is computed on columns that lie as rows.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// Reductions along neighbouring dimensions with others behind them, and the elementwise ops that share their shape, as
// one group that sees what it reads with the reduced dimension last. Turned on its way to and from the chip, it is read
// and written once; as it stands it would be read once for each reduction.
Graph with_turned_columns(const Graph& graph);

}  // namespace kiln::tensor
