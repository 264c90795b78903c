// symm: c = alpha a b + beta c (side left) or alpha b a + beta c (right) for a symmetric a of which one triangle is
// used; row-major, any sizes.
//
//   input  a        [S, S], S = M on the left, N on the right   float32
//   input  b        [M, N]                                      float32
//   input  c_in     [M, N]          unless beta is zero         float32
//   input  scalars  [1, 2]: alpha, beta   where one is given    float32
//   output c        [M, N]                                      float32
#pragma once

#include "kernels/blas/gemm.h"
#include "kernels/blas/scalar.h"
#include "kernels/blas/triangle.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

struct SymmConfig {
  std::int64_t m = 0, n = 0;
  Side side = Side::left;
  Uplo uplo = Uplo::lower;
  Scalar alpha = Scalar::one, beta = Scalar::zero;
  Precision precision = Precision::native;
};

isa::Program symm(const SymmConfig& config, Target target);

}  // namespace kiln::kernels
