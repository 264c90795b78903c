#include "kernels/blas/syrk.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

enum class Kind { one, two, general };

void expect_right(Random& random, const SyrkConfig& c, Kind kind, bool trans_b, Target target) {
  const bool two = kind == Kind::two;
  SCOPED_TRACE("n=" + std::to_string(c.n) + " k=" + std::to_string(c.k) + " seed " + std::to_string(random.seed()));
  const Matrix a = random.matrix(c.n, c.k, c.dtype), b = random.matrix(c.n, c.k, c.dtype);
  Matrix old = random.matrix(c.n, c.n, c.dtype), scalars(1, 2);
  const double alpha = c.alpha == Scalar::given ? 0.75 : 1,
               beta = c.beta == Scalar::given ? -1.5 : c.beta == Scalar::one;
  scalars.values = {alpha, beta};
  const auto in_triangle = [&](std::int64_t r, std::int64_t j) { return c.uplo == Uplo::lower ? r >= j : r <= j; };
  for (std::int64_t r = 0; r < c.n; ++r) {  // what is not in the triangle must not count
    for (std::int64_t j = 0; j < c.n; ++j) {
      if (!in_triangle(r, j)) old(r, j) = NAN;
    }
  }
  const Matrix first = product(a, transposed(kind != Kind::one ? b : a)),
               size = product(magnitudes(a), transposed(magnitudes(kind != Kind::one ? b : a)));
  Matrix want(c.n, c.n), bound(c.n, c.n);
  for (std::int64_t r = 0; r < c.n; ++r) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      if (!in_triangle(r, j)) {
        bound(r, j) = 1e-300;
        continue;
      }
      const double sum = first(r, j) + (two ? first(j, r) : 0), of = c.beta == Scalar::zero ? 0 : beta * old(r, j);
      want(r, j) = alpha * sum + of;
      bound(r, j) = 4 * std::sqrt(2.0 * static_cast<double>(c.k)) * epsilon(DType::float32) *
                        (size(r, j) + (two ? size(j, r) : 0) + std::abs(of)) +
                    epsilon(c.dtype) * std::abs(want(r, j));
    }
  }
  const auto lie = [&](const Matrix& m) { return c.trans ? transposed(m) : m; };
  const Matrix right = kind != Kind::general ? lie(b) : trans_b ? b : transposed(b);
  const Arrays inputs{{"a", lie(a)}, {"b", right}, {"c_in", old}, {"scalars", scalars}};
  const isa::Program program = two                 ? syr2k(c, target)
                               : kind == Kind::one ? syrk(c, target)
                                                   : gemmtr(c, trans_b, target);
  expect_within(run(program, inputs)["c"], want, bound, "c");
}

TEST(Syrk, TrianglesOnOddShapes) {
  Random random;
  int turn = 0;
  for (const Kind kind : {Kind::one, Kind::two, Kind::general}) {
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      for (const bool trans : {false, true}) {
        for (const Scalar beta : {Scalar::zero, Scalar::given}) {
          const SyrkConfig c{.n = random.size(1, 1200),
                             .k = random.size(1, 200),
                             .trans = trans,
                             .uplo = uplo,
                             .dtype = turn % 5 == 4 ? DType::bfloat16 : DType::float32,
                             .alpha = beta == Scalar::zero ? Scalar::one : Scalar::given,
                             .beta = beta};
          expect_right(random, c, kind, turn % 2 == 0, kTargets[turn % 3]);
          ++turn;
        }
      }
    }
  }
}

TEST(Syrk, LegalEverywhere) {
  for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
    for (const std::int64_t n : {1, 129, 512, 2048, 3000}) {
      expect_legal([&](Target t) { return syrk({.n = n, .k = 512, .uplo = uplo}, t); });
      expect_legal(
          [&](Target t) { return syr2k({.n = n, .k = 20000, .trans = true, .uplo = uplo, .beta = Scalar::one}, t); });
    }
  }
}

}  // namespace
}  // namespace kiln::kernels::test
