#include "kernels/blas/symm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

void expect_right(Random& random, const SymmConfig& c, Target target) {
  SCOPED_TRACE("m=" + std::to_string(c.m) + " n=" + std::to_string(c.n) + " seed " + std::to_string(random.seed()));
  const std::int64_t size = c.side == Side::left ? c.m : c.n;
  Matrix full = random.matrix(size, size), a(size, size), scalars(1, 2);
  for (std::int64_t r = 0; r < size; ++r) {
    for (std::int64_t j = 0; j < size; ++j) {
      if (r > j) full(r, j) = full(j, r);
      a(r, j) = r == j || (c.uplo == Uplo::lower) == (r > j) ? full(r, j) : NAN;
    }
  }
  const Matrix b = random.matrix(c.m, c.n), old = random.matrix(c.m, c.n);
  scalars.values = {0.5, -1.25};
  const double alpha = c.alpha == Scalar::given ? 0.5 : 1,
               beta = c.beta == Scalar::given ? -1.25 : c.beta == Scalar::one;
  const auto times = [&](const Matrix& s, const Matrix& x) {
    return c.side == Side::left ? product(s, x) : product(x, s);
  };
  Matrix want = times(full, b), bound = times(magnitudes(full), magnitudes(b));
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    const double part = c.beta == Scalar::zero ? 0 : beta * old.values[i];
    want.values[i] = alpha * want.values[i] + part;
    bound.values[i] =
        4 * std::sqrt(static_cast<double>(size)) * epsilon(DType::float32) * (bound.values[i] + std::abs(part));
  }
  const Arrays inputs{{"a", a}, {"b", b}, {"c_in", old}, {"scalars", scalars}};
  expect_within(run(symm(c, target), inputs)["c"], want, bound, "c");
}

TEST(Symm, BothSidesOnOddShapes) {
  Random random;
  int turn = 0;
  for (const Side side : {Side::left, Side::right}) {
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::given}) {
        const SymmConfig c{.m = random.size(1, 600),
                           .n = random.size(1, 700),
                           .side = side,
                           .uplo = uplo,
                           .alpha = beta == Scalar::one ? Scalar::one : Scalar::given,
                           .beta = beta};
        expect_right(random, c, kTargets[turn++ % 3]);
      }
    }
  }
}

TEST(Symm, LegalEverywhere) {
  for (const Side side : {Side::left, Side::right}) {
    for (const auto& [m, n] : {std::pair{1, 1}, {2048, 512}, {1000, 3000}})
      expect_legal([&](Target t) { return symm({.m = m, .n = n, .side = side}, t); });
  }
}

}  // namespace
}  // namespace kiln::kernels::test
