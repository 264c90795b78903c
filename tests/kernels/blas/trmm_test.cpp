#include "kernels/blas/trmm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/blas/triangular_problem.h"

namespace kiln::kernels::test {
namespace {

TEST(Trmm, EveryKindOnOddShapes) {
  Random random;
  int turn = 0;
  for (const TriangularConfig& kind : triangular_kinds()) {
    TriangularConfig c = kind;
    c.m = random.size(1, 700), c.n = random.size(1, 700);
    c.alpha = turn % 3 == 1 ? Scalar::given : Scalar::one;
    const TriangularProblem p(random, c);
    SCOPED_TRACE(p.text() + " seed " + std::to_string(random.seed()));
    Matrix want = p.times(p.triangle, p.b), bound = p.times(magnitudes(p.triangle), magnitudes(p.b));
    for (double& v : want.values) v *= p.alpha;
    for (double& v : bound.values) v *= 4 * std::sqrt(700.0) * std::abs(p.alpha) * epsilon(DType::float32);
    expect_within(run(trmm(c, kTargets[turn++ % 3]), p.inputs())["c"], want, bound, "c");
  }
}

TEST(Trmm, LegalEverywhere) {
  for (TriangularConfig c : triangular_kinds()) {
    for (const auto& [m, n] : {std::pair{1, 1}, {2048, 512}, {1000, 3000}}) {
      c.m = m, c.n = n;
      expect_legal([&](Target t) { return trmm(c, t); });
    }
  }
}

}  // namespace
}  // namespace kiln::kernels::test
