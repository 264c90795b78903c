// Turn taps: a sum of shifted slices, each times one factor per channel, where channels lie last (time x channels, or
// pixels x channels), sees channels as rows: factors are operands of instructions then, and shifts are other places on
// a partition. What is done to the sum element by element is of it.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph with_turned_taps(const Graph& graph);

}  // namespace kiln::tensor
