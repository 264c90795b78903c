// trmm: c = alpha op(a) b (side left) or alpha b op(a) (right) for a triangular a; row-major, any sizes.
//
//   input  a        [S, S], S = M on the left, N on the right   float32
//   input  b        [M, N]                                      float32
//   input  scalars  [1, 2]: alpha, 0     where alpha is given   float32
//   output c        [M, N]                                      float32
//
// Only the triangle `uplo` of a is used, with diag unit not even its diagonal; blocks of zeros are left out.
#pragma once

#include "kernels/blas/trsm.h"

namespace kiln::kernels {

isa::Program trmm(const TriangularConfig& config, Target target);

}  // namespace kiln::kernels
