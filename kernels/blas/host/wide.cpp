#include "kernels/blas/host/wide.h"

#include <cmath>
#include <iterator>

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

struct Shape {
  Int rows, columns;
  Int size() const { return rows * columns; }
};

// Cuts one matrix into the place that begins at `at`. `lines_are_rows`: rows of the stored matrix, else its columns.
void cut(Cut& out, std::size_t at, std::size_t first_line, const Stored& a, const Shape& s, bool lines_are_rows) {
  std::vector<double> largest(static_cast<std::size_t>(lines_are_rows ? s.rows : s.columns));
  for (Int i = 0; i < s.rows; ++i) {
    for (Int j = 0; j < s.columns; ++j) {
      const double v = std::fabs(a.data[i * a.ld + j]);
      double& most = largest[static_cast<std::size_t>(lines_are_rows ? i : j)];
      if (std::isfinite(v))
        most = std::max(most, v);
      else
        out.is_finite = false;
    }
  }
  int* exponents = out.exponents.data() + first_line;
  for (std::size_t l = 0; l < largest.size(); ++l) std::frexp(largest[l], exponents + l);  // below 2^exponent
  for (Int i = 0; i < s.rows; ++i) {
    for (Int j = 0; j < s.columns; ++j, ++at) {
      const double v = a.data[i * a.ld + j];
      const double scaled = std::isfinite(v) ? std::ldexp(v, -exponents[lines_are_rows ? i : j]) : 0.0;
      out.high[at] = static_cast<float>(scaled);
      out.low[at] = static_cast<float>(scaled - out.high[at]);
    }
  }
}

Cut cut_all(std::span<const Stored> matrices, const Shape& s, bool lines_are_rows) {
  const std::size_t size = static_cast<std::size_t>(s.size()), lines = lines_are_rows ? s.rows : s.columns;
  Cut out{std::vector<float>(size * matrices.size()), std::vector<float>(size * matrices.size()),
          std::vector<int>(lines * matrices.size())};
  for (std::size_t i = 0; i < matrices.size(); ++i) cut(out, i * size, i * lines, matrices[i], s, lines_are_rows);
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

// A problem of many products of one shape.
struct Products {
  bool trans_a, trans_b;
  Int m, n, k;
  Shape a() const { return trans_a ? Shape{k, m} : Shape{m, k}; }
  Shape b() const { return trans_b ? Shape{n, k} : Shape{k, n}; }
  std::size_t size() const { return static_cast<std::size_t>(m * n); }
};

// Both parts of all products, by the kernel.
struct Halves {
  std::vector<float> high, low;
};
Halves run_kernel(std::string_view operation, const Products& p, const Cut& a, const Cut& b, Int of_a, Int of_b) {
  const Int batch = std::max(of_a, of_b);
  Halves out{std::vector<float>(p.size() * static_cast<std::size_t>(batch)), {}};
  out.low.resize(out.high.size());
  const kernels::DoubleBatchConfig config{
      {.m = p.m, .n = p.n, .k = p.k, .trans_a = p.trans_a, .trans_b = p.trans_b}, batch, of_a < batch, of_b < batch};
  const auto shape = [&](Int count, const Shape& s) {
    return batch == 1 ? std::vector<Int>{s.rows, s.columns} : std::vector<Int>{count, s.rows, s.columns};
  };
  dispatch_as<float>(
      std::string(operation),
      {fmt::format("{}x{}x{} {}{} double, {} of {}", p.m, p.n, p.k, p.trans_a, p.trans_b, of_a, of_b),
       [config](Target t) {
         return config.batch == 1 ? kernels::double_gemm(config.each, t) : kernels::double_batched_gemm(config, t);
       }},
      [] {},
      [&](auto run) {
        run({array("a0", a.high.data(), shape(of_a, p.a())), array("a1", a.low.data(), shape(of_a, p.a())),
             array("b0", b.high.data(), shape(of_b, p.b())), array("b1", b.low.data(), shape(of_b, p.b())),
             array("c0", out.high.data(), shape(batch, {p.m, p.n})),
             array("c1", out.low.data(), shape(batch, {p.m, p.n}))});
      });
  return out;
}

// Adds what infinities and NaN of the operands make of a product.
void add_unbounded(const Products& p, const Stored& a, const Stored& b, double* sum) {
  const Shape as = p.a(), bs = p.b();
  const std::vector<float> sa = signs(a.data, as.rows, as.columns, a.ld), sb = signs(b.data, bs.rows, bs.columns, b.ld);
  std::vector<float> shown(p.size());
  gemm<float>(Layout::row_major, p.trans_a ? Transpose::trans : Transpose::no_trans,
              p.trans_b ? Transpose::trans : Transpose::no_trans, p.m, p.n, p.k, 1.0f, sa.data(), as.columns, sb.data(),
              bs.columns, 0.0f, shown.data(), p.n);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!std::isfinite(shown[i])) sum[i] += shown[i];
  }
}

void add_chunk(std::string_view operation, const Products& p, std::span<const Stored> a, std::span<const Stored> b,
               std::vector<double>& sum) {
  const Cut ac = cut_all(a, p.a(), !p.trans_a), bc = cut_all(b, p.b(), p.trans_b);
  const Halves found = run_kernel(operation, p, ac, bc, std::ssize(a), std::ssize(b));
  for (std::size_t each = 0; each * p.size() < sum.size(); ++each) {
    const std::size_t at_a = a.size() == 1 ? 0 : each, at_b = b.size() == 1 ? 0 : each;
    const int* of_row = ac.exponents.data() + at_a * static_cast<std::size_t>(p.m);
    const int* of_column = bc.exponents.data() + at_b * static_cast<std::size_t>(p.n);
    std::size_t at = each * p.size();
    for (Int i = 0; i < p.m; ++i) {
      for (Int j = 0; j < p.n; ++j, ++at)
        sum[at] += std::ldexp(static_cast<double>(found.high[at]) + found.low[at], of_row[i] + of_column[j]);
    }
    if (!ac.is_finite || !bc.is_finite) add_unbounded(p, a[at_a], b[at_b], sum.data() + each * p.size());
  }
}

}  // namespace

std::vector<double> wide_products(std::string_view operation, bool trans_a, bool trans_b, Int m, Int n, Int k,
                                  std::span<const Stored> a, std::span<const Stored> b) {
  const std::size_t batch = std::max(a.size(), b.size());
  std::vector<double> sum(static_cast<std::size_t>(m * n) * batch);
  for (Int at = 0; at < k; at += kMostInner) {
    const Int part = std::min(kMostInner, k - at);
    std::vector<Stored> as(a.begin(), a.end()), bs(b.begin(), b.end());
    for (Stored& x : as) x.data += trans_a ? at * x.ld : at;
    for (Stored& x : bs) x.data += trans_b ? at : at * x.ld;
    add_chunk(operation, {trans_a, trans_b, m, n, part}, as, bs, sum);
  }
  return sum;
}

std::vector<double> wide_product(std::string_view operation, bool trans_a, bool trans_b, Int m, Int n, Int k,
                                 const double* a, Int lda, const double* b, Int ldb) {
  const Stored first{a, lda}, second{b, ldb};
  return wide_products(operation, trans_a, trans_b, m, n, k, {&first, 1}, {&second, 1});
}

namespace {

using Complex = std::complex<double>;

// Matrices `stride` apart; one where all are the same.
template <class T>
struct Strided {
  const T* data;
  Int ld, stride, count;
  const T* at(Int i) const { return data + i * stride; }
};

// c = alpha product + beta c, `value` giving the product's element by its place.
template <class T, class Value>
void update(Int m, Int n, T alpha, T beta, T* c, Int ldc, Value&& value) {
  for (Int i = 0; i < m; ++i) {
    for (Int j = 0; j < n; ++j) {
      T& out = c[i * ldc + j];
      out = alpha * value(static_cast<std::size_t>(i * n + j)) + (beta == T(0) ? T(0) : beta * out);
    }
  }
}

std::string name_of(std::string_view letter_and_name, bool is_batch) {
  return fmt::format("{}{}", letter_and_name, is_batch ? "_strided_batched" : "");
}

// Real and imaginary parts, dense, the latter of the conjugate where asked.
struct Planes {
  std::vector<double> re, im;
};
Planes planes(const Complex* a, const Shape& s, Int ld, bool conjugate) {
  Planes out{std::vector<double>(static_cast<std::size_t>(s.size())),
             std::vector<double>(static_cast<std::size_t>(s.size()))};
  for (Int i = 0; i < s.rows; ++i) {
    for (Int j = 0; j < s.columns; ++j) {
      const Complex v = a[i * ld + j];
      out.re[static_cast<std::size_t>(i * s.columns + j)] = v.real();
      out.im[static_cast<std::size_t>(i * s.columns + j)] = conjugate ? -v.imag() : v.imag();
    }
  }
  return out;
}

void multiply(const Products& p, Transpose, Transpose, const Strided<double>& a, const Strided<double>& b, double alpha,
              double beta, double* c, Int ldc, Int stride_c, Int batch, bool is_batch) {
  std::vector<Stored> as, bs;
  for (Int i = 0; i < a.count; ++i) as.push_back({a.at(i), a.ld});
  for (Int i = 0; i < b.count; ++i) bs.push_back({b.at(i), b.ld});
  const std::vector<double> product =
      wide_products(name_of("dgemm", is_batch), p.trans_a, p.trans_b, p.m, p.n, p.k, as, bs);
  for (Int i = 0; i < batch; ++i) {
    const double* of = product.data() + (product.size() == p.size() ? 0 : i * p.m * p.n);
    update(p.m, p.n, alpha, beta, c + i * stride_c, ldc, [&](std::size_t at) { return of[at]; });
  }
}

// Four real products for each complex one, all in one program.
void multiply(const Products& p, Transpose ta, Transpose tb, const Strided<Complex>& a, const Strided<Complex>& b,
              Complex alpha, Complex beta, Complex* c, Int ldc, Int stride_c, Int batch, bool is_batch) {
  std::vector<Planes> ap, bp;
  for (Int i = 0; i < a.count; ++i) ap.push_back(planes(a.at(i), p.a(), a.ld, ta == Transpose::conj_trans));
  for (Int i = 0; i < b.count; ++i) bp.push_back(planes(b.at(i), p.b(), b.ld, tb == Transpose::conj_trans));
  std::vector<Stored> as, bs;
  const Int many = std::max(a.count, b.count);
  for (Int i = 0; i < many; ++i) {
    const Planes &x = ap[a.count == 1 ? 0 : i], &y = bp[b.count == 1 ? 0 : i];
    for (const std::vector<double>* part : {&x.re, &x.im, &x.re, &x.im}) as.push_back({part->data(), p.a().columns});
    for (const std::vector<double>* part : {&y.re, &y.im, &y.im, &y.re}) bs.push_back({part->data(), p.b().columns});
  }
  const std::vector<double> product =
      wide_products(name_of("zgemm", is_batch), p.trans_a, p.trans_b, p.m, p.n, p.k, as, bs);
  for (Int i = 0; i < batch; ++i) {
    const double* rr = product.data() + (many == 1 ? 0 : 4 * i * p.m * p.n);
    const double *ii = rr + p.size(), *ri = ii + p.size(), *ir = ri + p.size();
    update(p.m, p.n, alpha, beta, c + i * stride_c, ldc,
           [&](std::size_t at) { return Complex(rr[at] - ii[at], ri[at] + ir[at]); });
  }
}

template <class T>
void multiply_all(Transpose ta, Transpose tb, Int m, Int n, Int k, T alpha, const T* a, Int lda, Int stride_a,
                  const T* b, Int ldb, Int stride_b, T beta, T* c, Int ldc, Int stride_c, Int batch, bool is_batch) {
  multiply({ta != Transpose::no_trans, tb != Transpose::no_trans, m, n, k}, ta, tb,
           Strided<T>{a, lda, stride_a, stride_a == 0 ? 1 : batch},
           Strided<T>{b, ldb, stride_b, stride_b == 0 ? 1 : batch}, alpha, beta, c, ldc, stride_c, batch, is_batch);
}

}  // namespace

template <class T>
void wide_batch(Transpose ta, Transpose tb, Int m, Int n, Int k, T alpha, const T* a, Int lda, Int stride_a, const T* b,
                Int ldb, Int stride_b, T beta, T* c, Int ldc, Int stride_c, Int batch) {
  multiply_all(ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch, true);
}
template void wide_batch(Transpose, Transpose, Int, Int, Int, double, const double*, Int, Int, const double*, Int, Int,
                         double, double*, Int, Int, Int);
template void wide_batch(Transpose, Transpose, Int, Int, Int, Complex, const Complex*, Int, Int, const Complex*, Int,
                         Int, Complex, Complex*, Int, Int, Int);

void wide_gemm(Transpose ta, Transpose tb, Int m, Int n, Int k, double alpha, const double* a, Int lda, const double* b,
               Int ldb, double beta, double* c, Int ldc) {
  multiply_all(ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1, false);
}

void wide_gemm(Transpose ta, Transpose tb, Int m, Int n, Int k, Complex alpha, const Complex* a, Int lda,
               const Complex* b, Int ldb, Complex beta, Complex* c, Int ldc) {
  multiply_all(ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1, false);
}

}  // namespace kiln::blas
