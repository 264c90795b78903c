// herk: one triangle of alpha a aᴴ + beta c for complex matrices, row-major, any sizes; alpha and beta are real.
//
//   input  a        [N, 2 K], or [K, 2 N] with trans (then aᴴ a)              float32
//   input  c_in     [N, 2 N]        unless beta is zero                       float32
//   input  scalars  [1, 4]: alpha, 0, beta, 0   where one is given            float32
//   output c        [N, 2 N]                                                  float32
//
// The triangle `uplo` of c is the result, with a real diagonal; elsewhere c is zero.
#pragma once

#include "kernels/blas/scalar.h"
#include "kernels/blas/triangle.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

struct HerkConfig {
  std::int64_t n = 0, k = 0;
  bool trans = false;
  Uplo uplo = Uplo::lower;
  Scalar alpha = Scalar::one, beta = Scalar::zero;
};

isa::Program herk(const HerkConfig& config, Target target);

}  // namespace kiln::kernels
