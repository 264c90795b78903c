// Bars of the FFT kernels.
#pragma once

#include "bench/libraries/blas_bars.h"

namespace kiln::bench {

std::vector<Bar> fft_bars();
std::vector<Bar> fft_original_bars();  // every number that the original measured, in seconds

}  // namespace kiln::bench
