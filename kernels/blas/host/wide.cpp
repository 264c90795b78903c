#include "kernels/blas/host/wide.h"

#include <cmath>

#include "kernels/blas/double_gemm.h"
#include "kernels/blas/host/blas.h"
#include "kernels/blas/host/device_call.h"

namespace kiln::blas {
namespace {

constexpr Int kMostInner = Int{1} << 17;  // that the bound of the kernel is proved for

// A matrix as stored, cut into two floats after its lines were divided by powers of two; a line is what one element of
// the result uses of it.
struct Cut {
  std::vector<float> high, low;
  std::vector<int> exponents;  // by line
  bool is_finite = true;
};

// `lines_are_rows`: rows of the stored matrix, else its columns.
Cut cut(const double* a, Int rows, Int columns, Int ld, bool lines_are_rows) {
  Cut out{std::vector<float>(static_cast<std::size_t>(rows * columns)),
          std::vector<float>(static_cast<std::size_t>(rows * columns)),
          std::vector<int>(static_cast<std::size_t>(lines_are_rows ? rows : columns))};
  std::vector<double> largest(out.exponents.size());
  for (Int i = 0; i < rows; ++i) {
    for (Int j = 0; j < columns; ++j) {
      const double v = std::fabs(a[i * ld + j]);
      double& most = largest[static_cast<std::size_t>(lines_are_rows ? i : j)];
      if (std::isfinite(v))
        most = std::max(most, v);
      else
        out.is_finite = false;
    }
  }
  for (std::size_t l = 0; l < largest.size(); ++l) std::frexp(largest[l], &out.exponents[l]);  // below 2^exponent
  for (Int i = 0; i < rows; ++i) {
    for (Int j = 0; j < columns; ++j) {
      const double v = a[i * ld + j];
      const int e = out.exponents[static_cast<std::size_t>(lines_are_rows ? i : j)];
      const double scaled = std::isfinite(v) ? std::ldexp(v, -e) : 0.0;
      const float high = static_cast<float>(scaled);
      out.high[static_cast<std::size_t>(i * columns + j)] = high;
      out.low[static_cast<std::size_t>(i * columns + j)] = static_cast<float>(scaled - high);
    }
  }
  return out;
}

// The signs of a matrix, with its infinities and NaN: their products show which results are no numbers.
std::vector<float> signs(const double* a, Int rows, Int columns, Int ld) {
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  for (Int i = 0; i < rows; ++i) {
    for (Int j = 0; j < columns; ++j) {
      const double v = a[i * ld + j];
      out[static_cast<std::size_t>(i * columns + j)] =
          std::isfinite(v) ? static_cast<float>((v > 0) - (v < 0)) : static_cast<float>(v);
    }
  }
  return out;
}

struct Shape {
  Int rows, columns;
};

void add_chunk(std::string_view operation, bool trans_a, bool trans_b, Int m, Int n, Int k, const double* a, Int lda,
               const double* b, Int ldb, std::vector<double>& sum) {
  const Shape as = trans_a ? Shape{k, m} : Shape{m, k}, bs = trans_b ? Shape{n, k} : Shape{k, n};
  const Cut ac = cut(a, as.rows, as.columns, lda, !trans_a), bc = cut(b, bs.rows, bs.columns, ldb, trans_b);
  std::vector<float> high(static_cast<std::size_t>(m * n)), low(high.size());
  const kernels::DoubleGemmConfig config{.m = m, .n = n, .k = k, .trans_a = trans_a, .trans_b = trans_b};
  dispatch_as<float>(
      std::string(operation),
      {fmt::format("{}x{}x{} {}{} double", m, n, k, trans_a, trans_b),
       [config](Target t) { return kernels::double_gemm(config, t); }},
      [] {},
      [&](auto run) {
        run({array("a0", ac.high.data(), {as.rows, as.columns}), array("a1", ac.low.data(), {as.rows, as.columns}),
             array("b0", bc.high.data(), {bs.rows, bs.columns}), array("b1", bc.low.data(), {bs.rows, bs.columns}),
             array("c0", high.data(), {m, n}), array("c1", low.data(), {m, n})});
      });
  for (Int i = 0; i < m; ++i) {
    for (Int j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * n + j);
      sum[at] += std::ldexp(static_cast<double>(high[at]) + low[at],
                            ac.exponents[static_cast<std::size_t>(i)] + bc.exponents[static_cast<std::size_t>(j)]);
    }
  }
  if (ac.is_finite && bc.is_finite) return;
  const std::vector<float> sa = signs(a, as.rows, as.columns, lda), sb = signs(b, bs.rows, bs.columns, ldb);
  std::vector<float> shown(high.size());
  gemm<float>(Layout::row_major, trans_a ? Transpose::trans : Transpose::no_trans,
              trans_b ? Transpose::trans : Transpose::no_trans, m, n, k, 1.0f, sa.data(), as.columns, sb.data(),
              bs.columns, 0.0f, shown.data(), n);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!std::isfinite(shown[i])) sum[i] += shown[i];
  }
}

}  // namespace

std::vector<double> wide_product(std::string_view operation, bool trans_a, bool trans_b, Int m, Int n, Int k,
                                 const double* a, Int lda, const double* b, Int ldb) {
  std::vector<double> sum(static_cast<std::size_t>(m * n));
  for (Int at = 0; at < k; at += kMostInner) {
    const Int part = std::min(kMostInner, k - at);
    add_chunk(operation, trans_a, trans_b, m, n, part, a + (trans_a ? at * lda : at), lda,
              b + (trans_b ? at : at * ldb), ldb, sum);
  }
  return sum;
}

void wide_gemm(Transpose ta, Transpose tb, Int m, Int n, Int k, double alpha, const double* a, Int lda, const double* b,
               Int ldb, double beta, double* c, Int ldc) {
  const std::vector<double> product =
      wide_product("dgemm", ta != Transpose::no_trans, tb != Transpose::no_trans, m, n, k, a, lda, b, ldb);
  for (Int i = 0; i < m; ++i) {
    for (Int j = 0; j < n; ++j) {
      double& out = c[i * ldc + j];
      out = alpha * product[static_cast<std::size_t>(i * n + j)] + (beta == 0 ? 0.0 : beta * out);
    }
  }
}

namespace {

using Complex = std::complex<double>;

// Real and imaginary parts, dense, the latter of the conjugate where asked.
struct Planes {
  std::vector<double> re, im;
};
Planes planes(const Complex* a, Int rows, Int columns, Int ld, bool conjugate) {
  Planes out{std::vector<double>(static_cast<std::size_t>(rows * columns)),
             std::vector<double>(static_cast<std::size_t>(rows * columns))};
  for (Int i = 0; i < rows; ++i) {
    for (Int j = 0; j < columns; ++j) {
      const Complex v = a[i * ld + j];
      out.re[static_cast<std::size_t>(i * columns + j)] = v.real();
      out.im[static_cast<std::size_t>(i * columns + j)] = conjugate ? -v.imag() : v.imag();
    }
  }
  return out;
}

}  // namespace

void wide_gemm(Transpose ta, Transpose tb, Int m, Int n, Int k, Complex alpha, const Complex* a, Int lda,
               const Complex* b, Int ldb, Complex beta, Complex* c, Int ldc) {
  const bool at = ta != Transpose::no_trans, bt = tb != Transpose::no_trans;
  const Shape as = at ? Shape{k, m} : Shape{m, k}, bs = bt ? Shape{n, k} : Shape{k, n};
  const Planes ap = planes(a, as.rows, as.columns, lda, ta == Transpose::conj_trans);
  const Planes bp = planes(b, bs.rows, bs.columns, ldb, tb == Transpose::conj_trans);
  const auto product = [&](const std::vector<double>& x, const std::vector<double>& y) {
    return wide_product("zgemm", at, bt, m, n, k, x.data(), as.columns, y.data(), bs.columns);
  };
  const auto rr = product(ap.re, bp.re), ii = product(ap.im, bp.im), ri = product(ap.re, bp.im),
             ir = product(ap.im, bp.re);
  for (Int i = 0; i < m; ++i) {
    for (Int j = 0; j < n; ++j) {
      const auto p = static_cast<std::size_t>(i * n + j);
      Complex& out = c[i * ldc + j];
      out = alpha * Complex(rr[p] - ii[p], ri[p] + ir[p]) + (beta == Complex(0) ? Complex(0) : beta * out);
    }
  }
}

}  // namespace kiln::blas
