// trsm: solves op(a) x = alpha b (side left) or x op(a) = alpha b (right) for a triangular a; row-major, any sizes.
//
//   input  a        [S, S], S = M on the left, N on the right   float32
//   input  b        [M, N]                                      float32
//   input  scalars  [1, 2]: alpha, 0     where alpha is given   float32
//   output x        [M, N]                                      float32
//
// Only the triangle `uplo` of a is used, with diag unit not even its diagonal. Nothing happens on the host: the
// diagonal blocks of 128 x 128 are inverted on the chip and everything else is products. A step of refinement per block
// makes the residual as small as that of a substitution, whatever the condition. A precision (split.h) is that of the
// products with blocks beside the diagonal; the diagonal stays float32. So |op(a) x - alpha b| grows by
// product_error(precision) |op(a)| |x|.
#pragma once

#include "kernels/blas/gemm.h"
#include "kernels/blas/scalar.h"
#include "kernels/blas/triangle.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

struct TriangularConfig {
  std::int64_t m = 0, n = 0;
  Side side = Side::left;
  Uplo uplo = Uplo::lower;
  bool trans = false;
  Diag diag = Diag::non_unit;
  Scalar alpha = Scalar::one;  // one or given
  Precision precision = Precision::native;
};

isa::Program trsm(const TriangularConfig& config, Target target);

}  // namespace kiln::kernels
