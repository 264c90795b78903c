#include "kernels/blas/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

// lᵀ l or l lᵀ gives a back, as far off as rounding explains; the other triangle is zero.
void expect_factor(Matrix full, Uplo uplo, Target target) {
  const std::int64_t n = full.rows;
  SCOPED_TRACE("n=" + std::to_string(n));
  Matrix a(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      full(i, j) = static_cast<float>(full(i, j));
      a(i, j) = i == j || (uplo == Uplo::lower) == (i > j) ? full(i, j) : NAN;
    }
  }
  const Matrix l = run(cholesky(n, uplo, target), {{"a", a}})["l"];
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      if (i != j && (uplo == Uplo::lower) != (i > j)) {
        ASSERT_EQ(l(i, j), 0) << i << " " << j;
      }
    }
  }
  const auto back = [&](const Matrix& m) {
    return uplo == Uplo::lower ? product(m, transposed(m)) : product(transposed(m), m);
  };
  Matrix bound = back(magnitudes(l));
  for (double& v : bound.values) v *= 64 * epsilon(DType::float32);
  expect_within(back(l), full, bound, "l");
}

void expect_factor(Random& random, std::int64_t n, Uplo uplo, Target target) {
  SCOPED_TRACE("seed " + std::to_string(random.seed()));
  const Matrix r = random.matrix(n, n);
  Matrix full = product(r, transposed(r));
  for (double& x : full.values) x /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) full(i, i) += 1;
  expect_factor(full, uplo, target);
}

// Neighbours that are nearly the same: the condition is 6e6.
TEST(Cholesky, BadCondition) {
  const std::int64_t n = 200;
  Matrix full(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double apart = 0.03 * static_cast<double>(i - j);
      full(i, j) = std::exp(-apart * apart) + (i == j ? 1e-5 : 0);
    }
  }
  for (const Target target : kTargets) expect_factor(full, target == Target::trn2 ? Uplo::upper : Uplo::lower, target);
}

TEST(Cholesky, OddSizes) {
  Random random;
  int turn = 0;
  for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, random.size(3, 128), random.size(129, 600)})
      expect_factor(random, n, uplo, kTargets[turn++ % 3]);
  }
  expect_factor(random, 128, Uplo::lower, Target::trn2);
  expect_factor(random, 384, Uplo::upper, Target::trn1);
}

TEST(Cholesky, LegalEverywhere) {
  for (const std::int64_t n : {1, 128, 1000, 2304}) {
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) expect_legal([&](Target t) { return cholesky(n, uplo, t); });
  }
}

}  // namespace
}  // namespace kiln::kernels::test
