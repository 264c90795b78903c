// Bluestein's algorithm: with j k = (j² + k² - (k - j)²) / 2 a transform of any length is a convolution with a chirp,
// here one of length m >= 2 n - 1 that has factors. Squares are reduced modulo 2 n before they are angles.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

Tables bluestein_tables(const TransformConfig& config, const Way& way);
// x and y are [rows, 2 n] in HBM.
void bluestein(isa::Kernel& k, const TransformConfig& config, const Way& way, const isa::View& x, const isa::View& y);

}  // namespace kiln::kernels
