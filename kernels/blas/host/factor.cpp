// Cholesky. OpenBLAS has it under its LAPACK name.
#include <cmath>
#include <limits>

#include "kernels/blas/cholesky.h"
#include "kernels/blas/host/matrix_call.h"
#include "kernels/blas/host/precision_scope.h"
#include "kernels/blas/host/wide.h"

extern "C" {
void spotrf_(const char* uplo, const blasint* n, float* a, const blasint* lda, blasint* info);   // NOLINT: their names
void dpotrf_(const char* uplo, const blasint* n, double* a, const blasint* lda, blasint* info);  // NOLINT
}

namespace kiln::blas {
namespace {

// By columns, as LAPACK counts.
bool native_potrf(char uplo, blasint n, float* a, blasint lda) {
  blasint info = 0;
  spotrf_(&uplo, &n, a, &lda, &info);
  return info == 0;
}
bool native_potrf(char uplo, blasint n, double* a, blasint lda) {
  blasint info = 0;
  dpotrf_(&uplo, &n, a, &lda, &info);
  return info == 0;
}

constexpr Transpose kPlain = Transpose::no_trans, kTrans = Transpose::trans;

// Floats of doubles divided by a power of two that brings them to at most 1; returns the power.
int narrowed(const std::vector<double>& wide, std::vector<float>& out) {
  double most = 0;
  for (const double v : wide) most = std::max(most, std::fabs(v));
  int e = 0;
  std::frexp(most, &e);
  out.resize(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) out[i] = static_cast<float>(std::ldexp(wide[i], -e));
  return e;
}

// The lower factor l of a in doubles: that of float32, corrected by l phi(l^-1 (a - l l^T) l^-T), phi the lower
// triangle with half of its diagonal, until the residual in doubles has nothing left to correct. `a` is symmetric,
// dense.
std::vector<double> refined_factor(const std::vector<double>& a, Int n) {
  constexpr int kMostCorrections = 12;
  std::vector<float> narrow;
  const int e = narrowed(a, narrow) & ~1;  // even, so that its root is a power of two
  for (std::size_t i = 0; i < a.size(); ++i) narrow[i] = static_cast<float>(std::ldexp(a[i], -e));
  const auto fail = [](const std::string& found) {
    raise(blas_rules::kTable, blas_rules::kConverges, {.found = found, .context = "potrf"});
  };
  if (!potrf<float>(Layout::row_major, Uplo::lower, n, narrow.data(), n))
    fail("in float32 it is not positive definite");
  std::vector<double> l(a.size());
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j <= i; ++j) l[static_cast<std::size_t>(i * n + j)] = narrow[static_cast<std::size_t>(i * n + j)];
  }
  double last = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kMostCorrections; ++round) {
    std::vector<double> residual(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) residual[i] = std::ldexp(a[i], -e);
    gemm<double>(Layout::row_major, kPlain, kTrans, n, n, n, -1.0, l.data(), n, l.data(), n, 1.0, residual.data(), n);
    std::vector<float> lf(l.begin(), l.end()), s;
    const int scale = narrowed(residual, s);
    trsm<float>(Layout::row_major, Side::left, Uplo::lower, kPlain, Diag::non_unit, n, n, 1.0f, lf.data(), n, s.data(),
                n);
    trsm<float>(Layout::row_major, Side::right, Uplo::lower, kTrans, Diag::non_unit, n, n, 1.0f, lf.data(), n, s.data(),
                n);
    for (Int i = 0; i < n; ++i) {
      s[static_cast<std::size_t>(i * n + i)] /= 2;
      std::fill(s.begin() + i * n + i + 1, s.begin() + (i + 1) * n, 0.0f);
    }
    trmm<float>(Layout::row_major, Side::left, Uplo::lower, kPlain, Diag::non_unit, n, n, 1.0f, lf.data(), n, s.data(),
                n);
    double size = 0, whole = 0;
    for (const float v : s) size = std::max(size, std::ldexp(std::fabs(static_cast<double>(v)), scale));
    for (const double v : l) whole = std::max(whole, std::fabs(v));
    if (!(size < last / 2)) {
      if (size <= 0x1p-40 * whole) break;
      fail(fmt::format("after {} corrections the next one is {:.1e} of the factor", round, size / whole));
    }
    for (std::size_t i = 0; i < l.size(); ++i) l[i] += std::ldexp(static_cast<double>(s[i]), scale);
    last = size;
    if (size <= 0x1p-48 * whole) break;
  }
  for (double& v : l) v = std::ldexp(v, e / 2);
  return l;
}

// A triangle of rows of a symmetric matrix in doubles becomes its factor.
bool wide_potrf(bool upper, Int n, double* a, Int lda) {
  std::vector<double> full(static_cast<std::size_t>(n * n));
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < n; ++j) {
      const bool stored = upper ? j >= i : j <= i;
      full[static_cast<std::size_t>(i * n + j)] = stored ? a[i * lda + j] : a[j * lda + i];
    }
    if (!(full[static_cast<std::size_t>(i * n + i)] > 0)) return false;
  }
  const std::vector<double> l = refined_factor(full, n);
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j <= i; ++j) (upper ? a[j * lda + i] : a[i * lda + j]) = l[static_cast<std::size_t>(i * n + j)];
  }
  return true;
}

}  // namespace

template <class T>
bool potrf(Layout layout, Uplo uplo, Int n, T* a, Int lda) {
  Arguments("potrf").word(layout).word(uplo).size("n", n).leading("lda", lda, layout, n, n);
  if (n == 0) return true;
  const bool upper = (uplo == Uplo::upper) != by_columns(layout);  // by rows
  if constexpr (is_wide<T>) {
    if (!is_native()) return wide_potrf(upper, n, a, lda);
  }
  const kernels::Uplo word = upper ? kernels::Uplo::upper : kernels::Uplo::lower;
  const kernels::Precision precision = precision_of_scope();
  std::vector<T> factor(static_cast<std::size_t>(n * n));
  bool is_definite = true;
  dispatch<T>(
      "potrf",
      {fmt::format("{} {} {}", n, upper, static_cast<int>(precision)),
       [n, word, precision](Target t) { return kernels::cholesky(n, word, t, precision); }},
      [&] {
        for (Int i = 0; i < n; ++i) std::copy_n(a + i * lda, n, factor.data() + i * n);
        is_definite = native_potrf(upper ? 'L' : 'U', native::c(n), factor.data(), native::c(n));
      },
      [&](auto run) {
        const Packed<T> am = in_matrix<T>(n, n, a, lda);
        run({array("a", am.data(), {n, n}), array("l", factor.data(), {n, n})});
        for (Int i = 0; i < n; ++i) {
          const T d = factor[static_cast<std::size_t>(i * n + i)];
          is_definite = is_definite && std::isfinite(d) && d > 0;
        }
      });
  if (is_definite) out_triangle(factor.data(), n, upper, a, lda);
  return is_definite;
}

template bool potrf(Layout, Uplo, Int, float*, Int);
template bool potrf(Layout, Uplo, Int, double*, Int);

}  // namespace kiln::blas
