// Large moments: mean and variance of what is too large to stay on the chip, read once for both.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// Along dimensions that are not the last ones alone: moments of the last dimensions, and moments of these. Without the
// last dimensions the mean square of x - k less the square of its mean, where k is the mean of a part of x; that loses
// no more digits than there are parts. Few rows along several last dimensions that no partition holds have the
// moments of their parts, too.
Graph with_large_moments(const Graph& graph);

}  // namespace kiln::tensor
