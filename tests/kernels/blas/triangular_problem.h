// Problems with a triangular matrix that solves and products share, in float64.
#pragma once

#include "kernels/blas/trsm.h"
#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {

struct TriangularProblem {
  TriangularProblem(Random& random, const TriangularConfig& c);

  Arrays inputs() const;  // what is not in the triangle is NaN
  // triangle x on the left, x triangle on the right
  Matrix times(const Matrix& triangle, const Matrix& x) const;
  std::string text() const;

  TriangularConfig config;
  double alpha;
  Matrix a, triangle, b;  // triangle: op(a) with zeros, and ones on its diagonal if it is unit
};

// All sides, triangles, transposes and diagonals.
std::vector<TriangularConfig> triangular_kinds();

}  // namespace kiln::kernels::test
