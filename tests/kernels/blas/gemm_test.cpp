#include "kernels/blas/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/blas/batched_gemm.h"
#include "kernels/blas/split.h"
#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

// The product in float64, its operands as they lie in memory, and how far off a float32 sum may be.
struct Problem {
  Problem(Random& random, const GemmConfig& c) : config(c) {
    const Matrix left = random.matrix(c.m, c.k, c.dtype), right = random.matrix(c.k, c.n, c.dtype);
    alpha = c.alpha == Scalar::given ? random.number() : 1;
    beta = c.beta == Scalar::given ? random.number() : c.beta == Scalar::one ? 1 : 0;
    alpha = static_cast<float>(alpha), beta = static_cast<float>(beta);
    inputs["a"] = c.trans_a ? transposed(left) : left;
    inputs["b"] = c.trans_b ? transposed(right) : right;
    inputs["c_in"] = random.matrix(c.m, c.n, c.c_dtype());
    inputs["scalars"] = Matrix(1, 2);
    inputs["scalars"].values = {alpha, beta};
    expect(left, right);
  }

  void expect(const Matrix& left, const Matrix& right) {
    const GemmConfig& c = config;
    want = product(left, right);
    bound = product(magnitudes(left), magnitudes(right));
    for (std::size_t i = 0; i < want.values.size(); ++i) {
      const double old = beta * inputs["c_in"].values[i];
      want.values[i] = alpha * want.values[i] + old;
      const double size = std::abs(alpha) * bound.values[i];
      bound.values[i] = product_error(c.precision) * size +
                        4 * std::sqrt(static_cast<double>(c.k)) * epsilon(DType::float32) * (size + std::abs(old)) +
                        epsilon(c.c_dtype()) * std::abs(want.values[i]);
    }
  }

  std::string text() const {
    return "m=" + std::to_string(config.m) + " n=" + std::to_string(config.n) + " k=" + std::to_string(config.k) +
           (config.trans_a ? " trans_a" : "") + (config.trans_b ? " trans_b" : "") + " " +
           std::string(name(config.dtype));
  }

  GemmConfig config;
  double alpha, beta;
  Arrays inputs;
  Matrix want, bound;
};

void expect_right(Random& random, const GemmConfig& config, Target target) {
  const Problem p(random, config);
  SCOPED_TRACE(p.text() + " seed " + std::to_string(random.seed()));
  expect_within(run(gemm(config, target), p.inputs)["c"], p.want, p.bound, "c");
}

TEST(Gemm, AllTransposesOnOddShapes) {
  Random random;
  for (int i = 0; i < 8; ++i) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      const GemmConfig c{.m = random.size(1, 700),
                         .n = random.size(1, 1400),
                         .k = random.size(1, 500),
                         .trans_a = (i & 1) != 0,
                         .trans_b = (i & 2) != 0,
                         .dtype = dtype};
      expect_right(random, c, kTargets[i % 3]);
    }
  }
}

TEST(Gemm, Factors) {
  Random random;
  int turn = 0;
  for (const Scalar alpha : {Scalar::one, Scalar::given}) {
    for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::given}) {
      const GemmConfig c{
          .m = random.size(1, 300), .n = random.size(1, 600), .k = random.size(1, 300), .alpha = alpha, .beta = beta};
      expect_right(random, c, kTargets[turn++ % 3]);
    }
  }
}

// NaN and infinity reach what depends on them and nothing else.
TEST(Gemm, NonFiniteNumbersStayInTheirRows) {
  Random random;
  for (const Target target : kTargets) {
    for (int trans = 0; trans < 4; ++trans) {
      const GemmConfig c{.m = 200, .n = 300, .k = 150, .trans_a = (trans & 1) != 0, .trans_b = (trans & 2) != 0};
      Matrix left = random.matrix(c.m, c.k), right = random.matrix(c.k, c.n);
      left(random.size(0, 199), random.size(0, 149)) = INFINITY;
      right(random.size(0, 149), random.size(0, 299)) = NAN;
      const Matrix want = product(left, right);
      const Arrays inputs{{"a", c.trans_a ? transposed(left) : left}, {"b", c.trans_b ? transposed(right) : right}};
      const Matrix got = run(gemm(c, target), inputs, true)["c"];
      for (std::size_t i = 0; i < want.values.size(); ++i) {
        ASSERT_EQ(std::isnan(got.values[i]), std::isnan(want.values[i])) << i << " seed " << random.seed();
        if (std::isinf(want.values[i])) {
          ASSERT_EQ(got.values[i], want.values[i]);
        }
      }
    }
  }
}

TEST(Gemm, ResultsOfAnotherDtype) {
  Random random;
  expect_right(random,
               {.m = 200, .n = 600, .k = 150, .dtype = DType::bfloat16, .beta = Scalar::one, .result = DType::float32},
               Target::trn2);
  expect_right(random, {.m = 200, .n = 600, .k = 150, .alpha = Scalar::given, .result = DType::bfloat16}, Target::trn1);
}

// Blocks of every kind: first, middle and last along all three dimensions, with and without a resident panel.
TEST(Gemm, ManyBlocks) {
  Random random;
  const GemmBlocking small{.m_tiles = 1, .n_tiles = 1, .k_tiles = 1};
  for (const bool trans_a : {false, true}) {
    const GemmConfig c{.m = 300, .n = 1100, .k = 290, .trans_a = trans_a, .blocking = small};
    expect_right(random, c, Target::trn2);
  }
  expect_right(random, {.m = 5, .n = 7, .k = 30000, .trans_a = true}, Target::trn1);
}

TEST(Gemm, SplitOperands) {
  Random random;
  int turn = 0;
  for (const Precision precision : {Precision::bf16, Precision::bf16x3, Precision::bf16x6}) {
    for (const bool trans : {false, true}) {
      const GemmConfig c{.m = random.size(1, 400),
                         .n = random.size(1, 900),
                         .k = random.size(1, 500),
                         .trans_a = trans,
                         .trans_b = turn % 2 == 0,
                         .precision = precision};
      expect_right(random, c, kTargets[turn++ % 3]);
    }
    expect_legal([&](Target t) { return gemm({.m = 2048, .n = 2048, .k = 2048, .precision = precision}, t); });
  }
}

// A bound that is too large would hide a part that is missing: the next better split is much nearer.
TEST(Gemm, SplitsDiffer) {
  Random random;
  const auto error = [&](Precision precision) {
    const Problem p(random, {.m = 100, .n = 200, .k = 300, .precision = precision});
    const Matrix got = run(gemm(p.config, Target::trn2), p.inputs)["c"];
    double sum = 0;
    for (std::size_t i = 0; i < got.values.size(); ++i) sum += std::abs(got.values[i] - p.want.values[i]);
    return sum;
  };
  const double one = error(Precision::bf16), three = error(Precision::bf16x3), six = error(Precision::bf16x6);
  EXPECT_LT(three, one / 50);
  EXPECT_LT(six, three / 4);
}

// Products of a batch one below the other, as they lie in memory.
void expect_batch(Random& random, const BatchedGemmConfig& c, Target target) {
  const GemmConfig& each = c.each;
  SCOPED_TRACE("m=" + std::to_string(each.m) + " n=" + std::to_string(each.n) + " k=" + std::to_string(each.k) +
               " batch=" + std::to_string(c.batch) + " seed " + std::to_string(random.seed()));
  std::vector<Problem> problems;
  for (std::int64_t i = 0; i < c.batch; ++i) problems.emplace_back(random, each);
  const auto stack = [&](const std::string& name, bool shares) {
    Matrix all(0, problems[0].inputs[name].columns);
    for (Problem& p : problems) {
      const Matrix& m = problems[shares ? 0 : &p - problems.data()].inputs[name];
      all.values.insert(all.values.end(), m.values.begin(), m.values.end());
      if (shares) break;
    }
    return all;
  };
  Matrix got = run(batched_gemm(c, target), {{"a", stack("a", c.shares_a)},
                                             {"b", stack("b", c.shares_b)},
                                             {"c_in", stack("c_in", false)},
                                             {"scalars", problems[0].inputs["scalars"]}})["c"];
  for (std::int64_t i = 0; i < c.batch; ++i) {
    // What is shared, the factors included, is that of the first problem.
    Problem& p = problems[i];
    const auto lies = [](const Matrix& m, bool turned) { return turned ? transposed(m) : m; };
    const Matrix left = lies(problems[c.shares_a ? 0 : i].inputs["a"], each.trans_a);
    const Matrix right = lies(problems[c.shares_b ? 0 : i].inputs["b"], each.trans_b);
    Matrix part(each.m, each.n);
    std::copy_n(got.values.begin() + i * each.m * each.n, each.m * each.n, part.values.begin());
    p.alpha = problems[0].alpha, p.beta = problems[0].beta;
    p.expect(left, right);
    expect_within(part, p.want, p.bound, "product " + std::to_string(i));
  }
}

TEST(Gemm, Batches) {
  Random random;
  for (const bool shares : {false, true}) {
    expect_batch(
        random,
        {.each = {.m = random.size(1, 300), .n = random.size(513, 600), .k = random.size(1, 200), .beta = Scalar::one},
         .batch = 3,
         .shares_a = shares},
        Target::trn2);
  }
  int turn = 0;
  for (int trans = 0; trans < 4; ++trans) {
    for (const std::int64_t m : {std::int64_t{256}, random.size(1, 300)}) {
      const GemmConfig each{.m = m,
                            .n = random.size(1, 300),
                            .k = random.size(1, 300),
                            .trans_a = (trans & 1) != 0,
                            .trans_b = (trans & 2) != 0,
                            .dtype = turn % 3 == 2 ? DType::bfloat16 : DType::float32,
                            .alpha = turn % 2 ? Scalar::given : Scalar::one,
                            .beta = turn % 4 == 1 ? Scalar::given : Scalar::zero};
      expect_batch(random, {.each = each, .batch = random.size(1, 9)}, kTargets[turn++ % 3]);
    }
  }
  expect_legal([](Target t) { return batched_gemm({.each = {.m = 512, .n = 512, .k = 512}, .batch = 7}, t); });
}

TEST(Gemm, ListsOfProducts) {
  Random random;
  std::vector<GemmConfig> list;
  for (int i = 0; i < 4; ++i) {
    list.push_back({.m = random.size(1, 300),
                    .n = random.size(1, 600),
                    .k = random.size(1, 200),
                    .trans_a = (i & 1) != 0,
                    .trans_b = (i & 2) != 0,
                    .alpha = Scalar::given});
  }
  Arrays inputs;
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < list.size(); ++i) {
    problems.emplace_back(random, list[i]);
    for (const auto& [name, m] : problems[i].inputs)
      inputs[name == "scalars" ? name : name + "_" + std::to_string(i)] = m;
    for (double& x : problems[i].want.values) x /= problems[i].alpha;
  }
  SCOPED_TRACE("seed " + std::to_string(random.seed()));
  Arrays out = run(gemm_list(list, Target::trn1), inputs);
  for (std::size_t i = 0; i < list.size(); ++i) {
    Matrix want = problems[i].want, bound = problems[i].bound;
    for (double& x : want.values) x *= problems.back().alpha;
    for (double& x : bound.values) x *= std::abs(problems.back().alpha / problems[i].alpha);
    expect_within(out["c_" + std::to_string(i)], want, bound, "c_" + std::to_string(i));
  }
}

TEST(Gemm, LegalEverywhere) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1},
                                {128, 512, 128},
                                {2048, 2048, 2048},
                                {4096, 8192, 8192},
                                {1, 4096, 513},
                                {4096, 1, 129},
                                {1000, 3000, 40000}}) {
    for (int trans = 0; trans < 4; ++trans) {
      for (const DType dtype : {DType::float32, DType::bfloat16}) {
        expect_legal([&](Target target) {
          return gemm(
              {.m = m, .n = n, .k = k, .trans_a = (trans & 1) != 0, .trans_b = (trans & 2) != 0, .dtype = dtype},
              target);
        });
      }
    }
  }
}

}  // namespace
}  // namespace kiln::kernels::test
