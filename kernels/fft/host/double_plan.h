// Complex transforms of doubles on a device, one launch each, as kernels/fft/double_transform.h has them.
#pragma once

#include "kernels/backend/call.h"
#include "kernels/fft/double_transform.h"

namespace kiln::fft {

using kernels::DoubleTransformConfig;

// y = scale times the transforms of the rows of x, [rows, 2 n] doubles that are real and imaginary parts in turn, on
// the simulator or a device. Rows that are not finite give NaN. Tables are kept for the next call, which is remembered
// as `operation`. Throws Error (fft.R1, fft.R2).
void execute_double(const std::string& operation, const DoubleTransformConfig& config, double scale, const double* x,
                    double* y, backend::Backend backend);
void clear_double_plans();

// The longest rows: their convolution has 2^24 numbers.
inline constexpr std::int64_t kLongestDouble = 1 << 23;

}  // namespace kiln::fft
