// A band matrix and a vector as products with windows want them: zeros around, and zeros in the corners of the band
// that belong to no column.
#pragma once

#include "kernels/blas/level2/level2.h"

namespace kiln::kernels {

// [above + max(rows, columns + below) rows, width * planes] in HBM: row `above + i` is row i of the band.
isa::View clean_band(isa::Kernel& k, const isa::View& a, const BandConfig& config);

// x with `before` zeros in front of it and as many behind it as make `length`: [length, planes] in HBM.
isa::View padded_vector(isa::Kernel& k, const isa::View& x, const VectorShape& shape, std::int64_t before,
                        std::int64_t length);

}  // namespace kiln::kernels
