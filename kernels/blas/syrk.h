// syrk, syr2k, gemmtr: one triangle of alpha a aᵀ + beta c, of alpha (a bᵀ + b aᵀ) + beta c, or of
// alpha op(a) op(b) + beta c; row-major, any sizes.
//
//   input  a        [N, K], or [K, N] with trans (then aᵀ a)   dtype
//   input  b        syr2k: as a; gemmtr: [K, N], or [N, K] with trans_b   dtype
//   input  c_in     [N, N]          unless beta is zero        dtype
//   input  scalars  [1, 2]: alpha, beta   where one is given   float32
//   output c        [N, N]                                     dtype
//
// The triangle `uplo` of c is the result; of the other one, elements are zero, and c_in is not used there.
// Work is that of the tiles that touch the triangle.
#pragma once

#include "kernels/blas/scalar.h"
#include "kernels/blas/triangle.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

struct SyrkConfig {
  std::int64_t n = 0, k = 0;
  bool trans = false;
  Uplo uplo = Uplo::lower;
  DType dtype = DType::float32;
  Scalar alpha = Scalar::one, beta = Scalar::zero;
};

isa::Program syrk(const SyrkConfig& config, Target target);
isa::Program syr2k(const SyrkConfig& config, Target target);
isa::Program gemmtr(const SyrkConfig& config, bool trans_b, Target target);

}  // namespace kiln::kernels
