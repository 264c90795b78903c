// Level 2: a matrix and vectors, float32, real or complex (real part first), row-major. One algorithm per file; the
// routines of BLAS are settings of them (kernels/blas/host).
#pragma once

#include "kernels/blas/level1/vector_tiles.h"
#include "kernels/blas/scalar.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

// Which elements of a matrix count, and for what.
enum class Structure : std::uint8_t { general, triangular, unit_triangular, symmetric, hermitian };
enum class Triangle : std::uint8_t { upper, lower };

// y = alpha op(A) x + beta y: gemv, symv, hemv, trmv.
//   input  a        [rows, columns * planes]
//   input  x        [storage]
//   input  y_in     [length, planes]          unless beta is zero
//   input  scalars  [1, 4]: alpha, beta, each real and imaginary
//   output y        [length, planes]
struct MatvecConfig {
  Structure structure = Structure::general;
  Triangle triangle = Triangle::upper;  // of all but general ones, which are square then
  std::int64_t rows = 0, columns = 0;
  bool transpose = false, conjugate = false;
  VectorShape x;
  Scalar beta = Scalar::zero;
};
isa::Program matvec(const MatvecConfig& config, Target target);

// The same for a band matrix: gbmv, sbmv, hbmv, tbmv. `a` is [rows, (below + above + 1) * planes]: in row i, what
// counts of columns i - below … i + above.
struct BandConfig {
  MatvecConfig matrix;
  std::int64_t below = 0, above = 0;
};
isa::Program band_matvec(const BandConfig& config, Target target);

// A = A + alpha x y^T, with the conjugate of y where asked (ger, geru, gerc); of symmetric and hermitian ones only a
// triangle, with y = x (syr, her) or both products (syr2, her2).
//   inout  a        [rows, columns * planes]
//   input  x, y     [storage]   (y where there is one)
//   input  scalars  [1, 2]: alpha, real and imaginary
struct RankUpdateConfig {
  Structure structure = Structure::general;
  Triangle triangle = Triangle::upper;
  VectorShape x, y;
  bool has_y = true, conjugate = false;
};
isa::Program rank_update(const RankUpdateConfig& config, Target target);

}  // namespace kiln::kernels
