// x[r][i] to the power y[r][i], as plain::alu_rows gives it; what takes longest of all operators.
#pragma once

#include <cstddef>

#include "kiln/num/kernels.h"

namespace kiln::fast {

// `out` may be rows of x or of y. Returns the `largest` of what it wrote.
std::uint32_t power_rows(const FloatRows& x, const FloatRows& y, float* out, std::ptrdiff_t out_step, std::size_t rows,
                         std::size_t n);

}  // namespace kiln::fast
