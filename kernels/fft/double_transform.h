// double_transform: Fourier transforms of complex rows beyond float32, one program; numbers are sums of two float32.
//
//   input  x0, x1  [rows, 2 n]   a row's real parts, then its imaginary ones; norms of rows are at most 1
//   input  …       tables, as double_transform_tables has them
//   output y0, y1  [rows, 2 n]   likewise, the transforms times double_transform_gain
//
// Each factor of n is a product (double_steps.h). A length with a prime factor above 256 is a convolution with a chirp,
// Bluestein's algorithm, whose transforms are computed so.
#pragma once

#include "kernels/fft/table.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

struct DoubleTransformConfig {
  std::int64_t n = 1, rows = 1;
  bool positive = false;
};

Tables double_transform_tables(const DoubleTransformConfig& config);
double double_transform_gain(const DoubleTransformConfig& config);
isa::Program double_transform(const DoubleTransformConfig& config, Target target);
// "64x64", or "bluestein 128x128"
std::string double_transform_way(const DoubleTransformConfig& config);

}  // namespace kiln::kernels
