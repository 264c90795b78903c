// Bars of the sparse kernels.
#pragma once

#include "bench/libraries/blas_bars.h"

namespace kiln::bench {

std::vector<Bar> sparse_bars();
std::vector<Bar> sparse_original_bars();  // every number that the original measured

}  // namespace kiln::bench
