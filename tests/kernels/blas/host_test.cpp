// kiln::blas as C++ programs call it: both layouts, strides and every letter on the simulator against OpenBLAS in the
// widest type, the choice of backends, wrong arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/backend/backend.h"
#include "kernels/backend/call.h"
#include "kernels/blas/host/names.h"
#include "tests/seed.h"

namespace kiln::blas {
namespace {

constexpr Layout kRows = Layout::row_major, kColumns = Layout::col_major;

template <class T>
using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;

class Random {
 public:
  Random() : seed_(static_cast<unsigned>(test::seed())), generator_(seed_) {}
  unsigned seed() const { return seed_; }
  Int size(Int low, Int high) { return std::uniform_int_distribution<Int>(low, high)(generator_); }
  template <class T>
  std::vector<T> values(Int count) {
    std::vector<T> out(static_cast<std::size_t>(count));
    std::normal_distribution<double> normal;
    for (T& v : out) {
      if constexpr (is_complex<T>)
        v = T(static_cast<float>(normal(generator_)), static_cast<float>(normal(generator_)));
      else
        v = static_cast<float>(normal(generator_));
    }
    return out;
  }

 private:
  unsigned seed_;
  std::mt19937 generator_;
};

template <class T>
std::vector<Wide<T>> widened(const std::vector<T>& v) {
  return std::vector<Wide<T>>(v.begin(), v.end());
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<Wide<T>>& want, double bound, const char* what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(Wide<T>(got[i]) - want[i]), bound) << what << " at " << i;
  }
}

// Calls routine(letter's type) on the simulator and natively in the widest type, with copies of the last vector.
template <class T, class Narrow, class Widest>
void compare(const std::vector<T>& result, double bound, const char* what, Narrow&& narrow, Widest&& widest) {
  std::vector<T> got = result;
  std::vector<Wide<T>> want = widened(result);
  {
    const backend::Scope scope("simulator");
    narrow(got);
    EXPECT_EQ(backend::last_call().backend, backend::Backend::simulator) << what;
  }
  const backend::Scope scope("native");
  widest(want);
  expect_near(got, want, bound, what);
}

template <class T>
class BlasHost : public ::testing::Test {};
using Letters = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BlasHost, Letters);

TYPED_TEST(BlasHost, ProductsInBothLayouts) {
  using T = TypeParam;
  Random r;
  SCOPED_TRACE(r.seed());
  for (const Layout layout : {kRows, kColumns}) {
    const Int m = r.size(1, 90), n = r.size(1, 90), k = r.size(1, 90);
    const Int lda = (layout == kRows ? k : m) + 2, ldb = (layout == kRows ? k : n) + 1, ldc = layout == kRows ? n : m;
    const auto a = r.values<T>(lda * (layout == kRows ? m : k)), b = r.values<T>(ldb * (layout == kRows ? n : k));
    const auto c = r.values<T>(m * n);
    const auto aw = widened(a), bw = widened(b);
    const T alpha(0.5), beta(-2);
    compare(
        c, 1e-3, "gemm",
        [&](auto& out) {
          gemm<T>(layout, Transpose::no_trans, Transpose::conj_trans, m, n, k, alpha, a.data(), lda, b.data(), ldb,
                  beta, out.data(), ldc);
        },
        [&](auto& out) {
          gemm<Wide<T>>(layout, Transpose::no_trans, Transpose::conj_trans, m, n, k, Wide<T>(alpha), aw.data(), lda,
                        bw.data(), ldb, Wide<T>(beta), out.data(), ldc);
        });
    compare(
        c, 1e-3, "her2",
        [&](auto& out) {
          const Int order = std::min(m, n);
          her2<T>(layout, Uplo::lower, order, alpha, a.data(), 1, b.data(), 1, out.data(), order);
        },
        [&](auto& out) {
          const Int order = std::min(m, n);
          her2<Wide<T>>(layout, Uplo::lower, order, Wide<T>(alpha), aw.data(), 1, bw.data(), 1, out.data(), order);
        });
  }
}

TYPED_TEST(BlasHost, VectorsWithStrides) {
  using T = TypeParam;
  Random r;
  SCOPED_TRACE(r.seed());
  const Int n = r.size(1, 400);
  const auto x = r.values<T>(3 * n);
  const auto xw = widened(x);
  const auto y = r.values<T>(2 * n);
  compare(
      y, 1e-5, "axpy", [&](auto& out) { axpy<T>(n, T(3), x.data(), -3, out.data(), 2); },
      [&](auto& out) { axpy<Wide<T>>(n, Wide<T>(3), xw.data(), -3, out.data(), 2); });
  compare(
      y, 0, "copy", [&](auto& out) { blas::copy<T>(n, x.data(), 3, out.data(), -2); },
      [&](auto& out) { blas::copy<Wide<T>>(n, xw.data(), 3, out.data(), -2); });
}

TYPED_TEST(BlasHost, TriangularSystems) {
  using T = TypeParam;
  Random r;
  SCOPED_TRACE(r.seed());
  for (const Layout layout : {kRows, kColumns}) {
    const Int n = r.size(1, 150), columns = 5;
    auto a = r.values<T>(n * n);
    for (Int i = 0; i < n * n; ++i) a[static_cast<std::size_t>(i)] *= real_t<T>(0.05);
    for (Int i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] = T(2);
    const auto aw = widened(a);
    const auto b = r.values<T>(n * columns);
    const Int ldb = layout == kRows ? columns : n;
    compare(
        b, 1e-3, "trsm",
        [&](auto& out) {
          trsm<T>(layout, Side::left, Uplo::upper, Transpose::conj_trans, Diag::non_unit, n, columns, T(1), a.data(), n,
                  out.data(), ldb);
        },
        [&](auto& out) {
          trsm<Wide<T>>(layout, Side::left, Uplo::upper, Transpose::conj_trans, Diag::non_unit, n, columns, Wide<T>(1),
                        aw.data(), n, out.data(), ldb);
        });
  }
}

TEST(BlasHostCalls, NamesOfCblas) {
  const backend::Scope scope("simulator");
  const std::vector<float> x = {3, -4};
  EXPECT_FLOAT_EQ(snrm2(2, x.data(), 1), 5);
  EXPECT_EQ(isamax(2, x.data(), 1), 1);
  EXPECT_FLOAT_EQ(sdot(2, x.data(), 1, x.data(), 1), 25);
  std::vector<float> c(4);
  sgemm(kRows, Transpose::trans, Transpose::no_trans, 2, 2, 1, 1, x.data(), 2, x.data(), 2, 0, c.data(), 2);
  EXPECT_EQ(c, (std::vector<float>{9, -12, -12, 16}));
  std::vector<float> s = {4, 0, 2, 5};
  EXPECT_TRUE(spotrf(kRows, Uplo::lower, 2, s.data(), 2));
  EXPECT_FLOAT_EQ(s[3], 2);
  s = {1, 0, 2, 1};
  EXPECT_FALSE(spotrf(kRows, Uplo::lower, 2, s.data(), 2));
  EXPECT_EQ(s, (std::vector<float>{1, 0, 2, 1}));
}

TEST(BlasHostCalls, WrongArgumentsWriteNothing) {
  std::vector<float> a(9, 1), c(9, 7);
  const auto code = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.diagnostics().at(0).code + " " + error.diagnostics().at(0).operand;
    }
    return std::string("none");
  };
  EXPECT_EQ(code([&] {
              sgemm(kRows, Transpose::no_trans, Transpose::no_trans, 3, 3, 3, 1, a.data(), 2, a.data(), 3, 0, c.data(),
                    3);
            }),
            "blas.R3 lda");
  EXPECT_EQ(code([&] { saxpy(-1, 1, a.data(), 1, c.data(), 1); }), "blas.R1 n");
  EXPECT_EQ(code([&] { saxpy(3, 1, a.data(), 0, c.data(), 1); }), "blas.R2 incx");
  EXPECT_EQ(code([&] { sgemv(kRows, static_cast<Transpose>(7), 3, 3, 1, a.data(), 3, a.data(), 1, 0, c.data(), 1); }),
            "blas.R4 trans");
  EXPECT_EQ(code([&] { ssbmv(kRows, Uplo::upper, 3, 3, 1, a.data(), 3, a.data(), 1, 0, c.data(), 1); }), "blas.R5 lda");
  EXPECT_EQ(code([] { backend::set_backend("gpu"); }), "backend.R1 backend");
  EXPECT_EQ(code([] { const backend::Scope scope("neuron"); }), "backend.R2 backend");
  EXPECT_EQ(c, std::vector<float>(9, 7));
}

}  // namespace
}  // namespace kiln::blas
