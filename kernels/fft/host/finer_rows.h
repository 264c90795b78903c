// Rows whose results would be too inexact, as row_errors.h finds them, in another launch with finer products: those of
// bfloat16 slices, or where these are not enough the exact ones of double_plan.h.
#pragma once

#include <vector>

#include "kernels/backend/backend.h"
#include "kernels/fft/way.h"

namespace kiln::fft {

// Computes some rows of x, whose results are in y, again. The last call stays the one that it was.
void compute_finer(const kernels::TransformConfig& config, const std::vector<std::int64_t>& rows, const float* x,
                   float* y, backend::Backend backend);

}  // namespace kiln::fft
