// Rows whose spectrum is Hermitian, as whole complex rows and back.
#pragma once

#include <vector>

#include "kernels/fft/way.h"

namespace kiln::fft {

// Real rows with imaginary parts of zero, or half a spectrum with its other half.
std::vector<float> to_whole(const kernels::TransformConfig& config, const float* x);
// The first n / 2 + 1 numbers of each row, or the real parts.
void from_whole(const kernels::TransformConfig& config, const std::vector<float>& whole, float* y);

}  // namespace kiln::fft
