#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "kernels/blas/complex_gemm.h"
#include "kernels/blas/herk.h"
#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

using Complex = std::complex<double>;

Complex at(const Matrix& m, std::int64_t r, std::int64_t c) { return {m(r, 2 * c), m(r, 2 * c + 1)}; }

// op of a matrix of pairs.
Matrix turned(const Matrix& m, Op op) {
  if (op == Op::none) return m;
  Matrix t(m.columns / 2, 2 * m.rows);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns / 2; ++c) {
      t(c, 2 * r) = m(r, 2 * c);
      t(c, 2 * r + 1) = m(r, 2 * c + 1) * (op == Op::conjugate ? -1 : 1);
    }
  }
  return t;
}

// alpha left right + beta old, and a bound for both parts of an element.
void reference(const Matrix& left, const Matrix& right, const Matrix& old, Complex alpha, Complex beta, Matrix& want,
               Matrix& bound) {
  const std::int64_t k = right.rows, n = right.columns / 2;
  want = bound = Matrix(left.rows, right.columns);
  for (std::int64_t r = 0; r < left.rows; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      Complex sum = 0;
      double size = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const Complex x = at(left, r, i), y = at(right, i, c);
        sum += x * y;
        size += (std::abs(x.real()) + std::abs(x.imag())) * (std::abs(y.real()) + std::abs(y.imag()));
      }
      const Complex before = beta == 0.0 ? 0 : beta * at(old, r, c), value = alpha * sum + before;
      want(r, 2 * c) = value.real(), want(r, 2 * c + 1) = value.imag();
      bound(r, 2 * c) = bound(r, 2 * c + 1) = 6 * std::sqrt(2.0 * static_cast<double>(k)) * epsilon(DType::float32) *
                                              (2 * std::abs(alpha) * size + 2 * std::abs(before));
    }
  }
}

TEST(ComplexGemm, AllOperationsOnOddShapes) {
  Random random;
  int turn = 0;
  for (const Op op_a : {Op::none, Op::transpose, Op::conjugate}) {
    for (const Op op_b : {Op::none, Op::transpose, Op::conjugate}) {
      for (const int products : {3, 4}) {
        const ComplexGemmConfig c{.m = random.size(1, 300),
                                  .n = random.size(1, 600),
                                  .k = random.size(1, 300),
                                  .op_a = op_a,
                                  .op_b = op_b,
                                  .alpha = turn % 3 == 0 ? Scalar::one : Scalar::given,
                                  .beta = turn % 4 == 0   ? Scalar::one
                                          : turn % 4 == 1 ? Scalar::given
                                                          : Scalar::zero,
                                  .products = products};
        SCOPED_TRACE("m=" + std::to_string(c.m) + " n=" + std::to_string(c.n) + " k=" + std::to_string(c.k) + " seed " +
                     std::to_string(random.seed()));
        const Matrix a = op_a == Op::none ? random.matrix(c.m, 2 * c.k) : random.matrix(c.k, 2 * c.m);
        const Matrix b = op_b == Op::none ? random.matrix(c.k, 2 * c.n) : random.matrix(c.n, 2 * c.k);
        const Matrix old = random.matrix(c.m, 2 * c.n);
        Matrix scalars(1, 4), want, bound;
        scalars.values = {0.5, -1.25, 2, 0.75};
        const Complex alpha = c.alpha == Scalar::one ? 1 : Complex(0.5, -1.25);
        const Complex beta = c.beta == Scalar::zero ? 0 : c.beta == Scalar::one ? 1 : Complex(2, 0.75);
        reference(turned(a, op_a), turned(b, op_b), old, alpha, beta, want, bound);
        const Arrays inputs{{"a", a}, {"b", b}, {"c_in", old}, {"scalars", scalars}};
        expect_within(run(complex_gemm(c, kTargets[turn++ % 3]), inputs)["c"], want, bound, "c");
      }
    }
  }
}

TEST(ComplexGemm, LegalEverywhere) {
  for (const int products : {3, 4}) {
    for (const std::int64_t n : {1, 128, 1000, 2048})
      expect_legal([&](Target t) { return complex_gemm({.m = n, .n = n, .k = n, .products = products}, t); });
  }
}

TEST(Herk, TrianglesOnOddShapes) {
  Random random;
  int turn = 0;
  for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
    for (const bool trans : {false, true}) {
      const HerkConfig c{.n = random.size(1, 900),
                         .k = random.size(1, 200),
                         .trans = trans,
                         .uplo = uplo,
                         .alpha = turn % 2 ? Scalar::given : Scalar::one,
                         .beta = turn % 2 ? Scalar::given : Scalar::zero};
      SCOPED_TRACE("n=" + std::to_string(c.n) + " k=" + std::to_string(c.k) + " seed " + std::to_string(random.seed()));
      const Matrix a = trans ? random.matrix(c.k, 2 * c.n) : random.matrix(c.n, 2 * c.k);
      Matrix old = random.matrix(c.n, 2 * c.n), scalars(1, 4), want, bound;
      for (std::int64_t i = 0; i < c.n; ++i) old(i, 2 * i + 1) = 0;
      scalars.values = {-0.5, 0, 1.5, 0};
      const bool given = c.alpha == Scalar::given;
      reference(trans ? turned(a, Op::conjugate) : a, trans ? a : turned(a, Op::conjugate), old, given ? -0.5 : 1,
                given ? 1.5 : 0, want, bound);
      for (std::int64_t r = 0; r < c.n; ++r) {
        for (std::int64_t j = 0; j < c.n; ++j) {
          const bool inside = uplo == Uplo::lower ? r >= j : r <= j;
          for (int part = 0; part < 2; ++part) {
            if (inside && (r != j || part == 0)) continue;
            want(r, 2 * j + part) = 0, bound(r, 2 * j + part) = 1e-300;
          }
        }
      }
      expect_within(run(herk(c, kTargets[turn++ % 3]), {{"a", a}, {"c_in", old}, {"scalars", scalars}})["c"], want,
                    bound, "c");
    }
  }
  expect_legal([](Target t) { return herk({.n = 1000, .k = 300}, t); });
}

}  // namespace
}  // namespace kiln::kernels::test
