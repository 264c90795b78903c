// transform: Fourier transforms of the rows of a matrix, one program.
//
//   input  x   [rows, width]   float32; complex numbers are neighbours, half a spectrum has n / 2 + 1 of them
//   input  …   tables, as transform_tables has them
//   output y   [rows, width]   float32
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

Tables transform_tables(const TransformConfig& config, const Way& way);
isa::Program transform(const TransformConfig& config, const Way& way, Target target);

// The same for the two cores of a pair, one program each: half the rows, or of a single row half of each step, which in
// one product and in two factors is half of the results. is_shareable says whether there is such a pair: not of single
// rows by Rader's algorithm or in four factors.
bool is_shareable(const TransformConfig& config, const Way& way);
std::vector<isa::Program> transform_pair(const TransformConfig& config, const Way& way, Target target);

// The real matrix [x_width, y_width] of a transform.
Table transform_matrix(const TransformConfig& config, const std::string& name);

}  // namespace kiln::kernels
