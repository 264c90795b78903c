#include "kernels/blas/double_gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

struct Two {
  Matrix high, low;
};

Two parts(const Matrix& m) {
  Two t{m, m};
  for (std::size_t i = 0; i < m.values.size(); ++i) {
    t.high.values[i] = static_cast<float>(m.values[i]);
    t.low.values[i] = static_cast<float>(m.values[i] - t.high.values[i]);
  }
  return t;
}

// Doubles of all sizes up to 1, and now and then exactly 1.
Matrix doubles(Random& random, std::int64_t rows, std::int64_t columns) {
  Matrix m(rows, columns);
  for (double& x : m.values) {
    x = std::tanh(random.number() + 1e-9 * random.number()) * std::ldexp(1.0, -static_cast<int>(random.size(0, 12)));
    if (random.size(0, 200) == 0) x = std::copysign(1.0, x);
  }
  return m;
}

TEST(DoubleGemm, WithinItsBound) {
  Random random;
  int turn = 0;
  double sum = 0, count = 0;
  for (int i = 0; i < 7; ++i) {
    const bool is_deep = i == 6;  // K in two parts
    const DoubleGemmConfig c{.m = random.size(1, is_deep ? 5 : 200),
                             .n = random.size(1, is_deep ? 5 : 600),
                             .k = is_deep  ? 70000
                                  : i == 5 ? 1100
                                           : random.size(1, 300),
                             .trans_a = (i & 1) != 0,
                             .trans_b = (i & 2) != 0};
    SCOPED_TRACE("m=" + std::to_string(c.m) + " n=" + std::to_string(c.n) + " k=" + std::to_string(c.k) + " seed " +
                 std::to_string(random.seed()));
    const Matrix left = doubles(random, c.m, c.k), right = doubles(random, c.k, c.n);
    const Two a = parts(c.trans_a ? transposed(left) : left), b = parts(c.trans_b ? transposed(right) : right);
    Arrays out =
        run(double_gemm(c, kTargets[turn++ % 3]), {{"a0", a.high}, {"a1", a.low}, {"b0", b.high}, {"b1", b.low}});
    Matrix want = product(left, right), bound(c.m, c.n), got = out["c0"];
    for (std::size_t e = 0; e < got.values.size(); ++e) {
      EXPECT_LE(std::abs(out["c1"].values[e]), std::ldexp(std::abs(got.values[e]), -23));
      got.values[e] += out["c1"].values[e];
      bound.values[e] = static_cast<double>(c.k) * std::ldexp(1.0, -42);
      sum += std::abs(got.values[e] - want.values[e]) / bound.values[e], count += 1;
    }
    expect_within(got, want, bound, "c");
  }
  EXPECT_LT(sum / count, 0.1) << "of its bound on average";
}

TEST(DoubleGemm, LegalEverywhere) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {1024, 1024, 1024}, {300, 700, 20000}})
    expect_legal([&](Target t) { return double_gemm({.m = m, .n = n, .k = k}, t); });
  expect_legal([](Target t) { return double_batched_gemm({{.m = 200, .n = 600, .k = 1000}, 5, true, false}, t); });
}

}  // namespace
}  // namespace kiln::kernels::test
