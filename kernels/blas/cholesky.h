// cholesky: the triangular factor of a symmetric positive definite matrix: a = l lᵀ, or uᵀ u with uplo upper;
// row-major, any size, blocked, all on the device.
//
//   input  a  [N, N], of which the triangle `uplo` is used   float32
//   output l  [N, N], zero in the other triangle             float32
//
// A precision (split.h) is that of the products with rows above: |a - l lᵀ| grows by product_error(precision) |l| |lᵀ|.
// A matrix that is not positive definite gives NaN from the column on where that shows.
#pragma once

#include "kernels/blas/gemm.h"
#include "kernels/blas/triangle.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

isa::Program cholesky(std::int64_t n, Uplo uplo, Target target, Precision precision = Precision::native);

}  // namespace kiln::kernels
