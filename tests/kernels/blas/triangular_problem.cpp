#include "tests/kernels/blas/triangular_problem.h"

#include <cmath>

namespace kiln::kernels::test {

TriangularProblem::TriangularProblem(Random& random, const TriangularConfig& c) : config(c) {
  const std::int64_t size = c.side == Side::left ? c.m : c.n;
  alpha = c.alpha == Scalar::given ? static_cast<float>(random.number()) : 1;
  b = random.matrix(c.m, c.n);
  a = random.matrix(size, size);
  Matrix kept(size, size);
  for (std::int64_t r = 0; r < size; ++r) {
    for (std::int64_t j = 0; j < size; ++j) {
      a(r, j) = static_cast<float>(a(r, j) / std::sqrt(static_cast<double>(size)));
      if (r == j)
        a(r, j) = c.diag == Diag::unit ? NAN : static_cast<float>(std::copysign(1 + std::abs(a(r, j)), a(r, j)));
      if (r != j && (c.uplo == Uplo::lower) != (r > j)) a(r, j) = NAN;
      kept(r, j) = r == j && c.diag == Diag::unit ? 1 : std::isnan(a(r, j)) ? 0 : a(r, j);
    }
  }
  triangle = c.trans ? transposed(kept) : kept;
}

Arrays TriangularProblem::inputs() const {
  Matrix scalars(1, 2);
  scalars.values = {alpha, 0};
  return {{"a", a}, {"b", b}, {"scalars", scalars}};
}

Matrix TriangularProblem::times(const Matrix& t, const Matrix& x) const {
  return config.side == Side::left ? product(t, x) : product(x, t);
}

std::string TriangularProblem::text() const {
  return "m=" + std::to_string(config.m) + " n=" + std::to_string(config.n) +
         (config.side == Side::left ? " left" : " right") + (config.uplo == Uplo::lower ? " lower" : " upper") +
         (config.trans ? " trans" : "") + (config.diag == Diag::unit ? " unit" : "");
}

std::vector<TriangularConfig> triangular_kinds() {
  std::vector<TriangularConfig> kinds;
  for (int i = 0; i < 16; ++i) {
    kinds.push_back({.side = i & 1 ? Side::right : Side::left,
                     .uplo = i & 2 ? Uplo::upper : Uplo::lower,
                     .trans = (i & 4) != 0,
                     .diag = i & 8 ? Diag::unit : Diag::non_unit});
  }
  return kinds;
}

}  // namespace kiln::kernels::test
