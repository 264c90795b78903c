// A transform in double precision on the host, for tables.
#pragma once

#include <vector>

#include "kernels/fft/roots.h"

namespace kiln::kernels {

// Σ_j x(j) e^(- 2 pi i j k / n) of any length; fast where n has small factors.
std::vector<Complex> host_dft(const std::vector<Complex>& x);

}  // namespace kiln::kernels
