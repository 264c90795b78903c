#include "kernels/blas/trsm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/blas/harness.h"
#include "tests/kernels/blas/triangular_problem.h"

namespace kiln::kernels::test {
namespace {

// Back in float64: op(a) x should be alpha b, as far off as rounding in |op(a)| |x| explains.
void expect_solved(Random& random, const TriangularConfig& c, Target target) {
  const TriangularProblem p(random, c);
  SCOPED_TRACE(p.text() + " seed " + std::to_string(random.seed()));
  const Matrix x = run(trsm(c, target), p.inputs())["x"];
  Matrix want = p.b, bound;
  for (double& v : want.values) v *= p.alpha;
  const Matrix got = p.times(p.triangle, x);
  bound = p.times(magnitudes(p.triangle), magnitudes(x));
  for (double& v : bound.values) v *= 64 * epsilon(DType::float32);
  expect_within(got, want, bound, "op(a) x");
}

TEST(Trsm, EveryKindOnOddShapes) {
  Random random;
  int turn = 0;
  for (const TriangularConfig& kind : triangular_kinds()) {
    TriangularConfig c = kind;
    c.m = random.size(1, 400), c.n = random.size(1, 400);
    c.alpha = turn % 3 == 1 ? Scalar::given : Scalar::one;
    expect_solved(random, c, kTargets[turn++ % 3]);
  }
}

TEST(Trsm, LargerThanABlock) {
  Random random;
  expect_solved(random, {.m = 700, .n = 1100}, Target::trn2);
  expect_solved(random, {.m = 1100, .n = 300, .side = Side::right, .uplo = Uplo::upper}, Target::trn1);
}

// Inverses of the diagonal blocks alone would leave residuals that grow with their condition (here beyond 1e18).
TEST(Trsm, ResidualsStaySmallWhateverTheCondition) {
  Random random;
  const std::int64_t n = 200;
  Matrix l(n, n);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c <= r; ++c) l(r, c) = r == c ? 1 : static_cast<float>(-0.3);
  }
  const Matrix b = random.matrix(n, 60);
  const Matrix x = run(trsm({.m = n, .n = 60}, Target::trn2), {{"a", l}, {"b", b}})["x"];
  Matrix bound = product(magnitudes(l), magnitudes(x));
  for (double& v : bound.values) v *= 8 * epsilon(DType::float32);
  expect_within(product(l, x), b, bound, "l x, seed " + std::to_string(random.seed()));
}

TEST(Trsm, LegalEverywhere) {
  for (TriangularConfig c : triangular_kinds()) {
    for (const auto& [m, n] : {std::pair{1, 1}, {2048, 512}, {1000, 3000}}) {
      c.m = m, c.n = n;
      expect_legal([&](Target t) { return trsm(c, t); });
    }
  }
}

}  // namespace
}  // namespace kiln::kernels::test
