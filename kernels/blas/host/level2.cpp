// Every routine is first brought to rows: a column-major matrix is its transpose in rows.
#include <array>
#include <cstdlib>

#include "kernels/blas/host/arguments.h"
#include "kernels/blas/host/blas.h"
#include "kernels/blas/host/device_call.h"
#include "kernels/blas/host/matrix_call.h"
#include "kernels/blas/host/native.h"
#include "kernels/blas/host/packing.h"
#include "kernels/blas/host/wide.h"
#include "kernels/blas/level2/level2.h"

namespace kiln::blas {
namespace {

using kernels::Structure;
using kernels::Triangle;
using kernels::VectorShape;

Triangle triangle_of(Layout layout, Uplo uplo) {
  return (uplo == Uplo::upper) != by_columns(layout) ? Triangle::upper : Triangle::lower;
}
template <class T>
constexpr Structure kSelfAdjoint = is_complex<T> ? Structure::hermitian : Structure::symmetric;

// The kind of a complex factor.
template <class T>
kernels::Scalar kind_of(T v) {
  return v == T(0) ? kernels::Scalar::zero : v == T(1) ? kernels::Scalar::one : kernels::Scalar::given;
}
template <class T>
std::array<float, 2> parts(T v) {
  if constexpr (is_complex<T>)
    return {static_cast<float>(v.real()), static_cast<float>(v.imag())};
  else
    return {static_cast<float>(v), 0.0f};
}

std::string key_of(const kernels::MatvecConfig& c) {
  return fmt::format("{}{} {}x{} {}{} x{}:{} b{}", static_cast<int>(c.structure), static_cast<int>(c.triangle), c.rows,
                     c.columns, c.transpose, c.conjugate, c.x.n, c.x.inc, static_cast<int>(c.beta));
}

// A product with a vector that is brought to rows.
template <class T>
struct Product {
  kernels::MatvecConfig config;  // without x and beta
  Int below = -1, above = -1;    // of a band
  T alpha, beta;
  Packed<T> a;
  Int a_columns;
};

// Element (i, j) of the stored matrix where it counts; false where it does not.
template <class T>
bool stored(const Product<T>& p, Int i, Int j, T& value) {
  const kernels::MatvecConfig& c = p.config;
  const bool has_triangle = c.structure != Structure::general;
  if (has_triangle && (c.triangle == Triangle::upper ? j < i : j > i)) return false;
  if (p.below < 0) {
    value = p.a.data()[i * p.a_columns + j];
  } else {
    const Int place = j - i + p.below;
    if (place < 0 || place > p.below + p.above) return false;
    value = p.a.data()[i * p.a_columns + place];
  }
  return true;
}

// op(A) in full, dense.
template <class T>
std::vector<T> full_op(const Product<T>& p) {
  const kernels::MatvecConfig& c = p.config;
  const Int columns = c.transpose ? c.rows : c.columns;
  std::vector<T> out(static_cast<std::size_t>(c.rows * c.columns));
  const auto at = [&](Int i, Int j) -> T& { return out[static_cast<std::size_t>(i * columns + j)]; };
  for (Int i = 0; i < c.rows; ++i) {
    for (Int j = 0; j < c.columns; ++j) {
      T v{};
      if (!stored(p, i, j, v)) continue;
      if (i == j && c.structure == Structure::unit_triangular) v = T(1);
      if constexpr (is_complex<T>) {
        if (i == j && c.structure == Structure::hermitian) v = T(v.real(), 0);
      }
      const bool is_self = c.structure == Structure::symmetric || c.structure == Structure::hermitian;
      if (is_self && i != j) at(j, i) = conj_if(v, (c.structure == Structure::hermitian) != c.conjugate);
      (c.transpose ? at(j, i) : at(i, j)) = conj_if(v, c.conjugate);
    }
  }
  return out;
}

// The same for doubles, as a product of matrices.
template <class T>
void wide_multiply(const Product<T>& p, Int in, Int out, const T* x, Int incx, T* y, Int incy) {
  const std::vector<T> full = full_op(p);
  std::vector<T> xs(static_cast<std::size_t>(in)), ys(static_cast<std::size_t>(out));
  const T* from = first_element(x, in, incx);
  for (Int i = 0; i < in; ++i) xs[static_cast<std::size_t>(i)] = from[i * incx];
  const T* old = first_element(static_cast<const T*>(y), out, incy);
  for (Int i = 0; i < out && p.beta != T(0); ++i) ys[static_cast<std::size_t>(i)] = old[i * incy];
  gemm<T>(Layout::row_major, Transpose::no_trans, Transpose::no_trans, out, 1, in, p.alpha, full.data(), in, xs.data(),
          1, p.beta, ys.data(), 1);
  out_vector(ys, y, incy);
}

// y = alpha op(A) x + beta y on a device, or native().
template <class T, class Native>
void multiply(std::string_view name, Product<T> p, const T* x, Int incx, T* y, Int incy, Native&& native) {
  kernels::MatvecConfig& c = p.config;
  const Int in = c.transpose ? c.rows : c.columns, out = c.transpose ? c.columns : c.rows;
  if constexpr (is_wide<T>) {
    if (!is_native()) return wide_multiply(p, in, out, x, incx, y, incy);
  }
  const InVector<T> xv = in_vector(in, x, incx);
  c.x = {in, xv.inc, is_complex<T>};
  c.beta = kind_of(p.beta);
  const bool is_band = p.below >= 0;
  const kernels::BandConfig band{c, p.below, p.above};
  KernelOf kernel{key_of(c), [c](Target t) { return kernels::matvec(c, t); }};
  if (is_band) {
    kernel = {fmt::format("{} band {} {}", key_of(c), p.below, p.above),
              [band](Target t) { return kernels::band_matvec(band, t); }};
  }
  dispatch<T>(name, std::move(kernel), native, [&](auto run) {
    const auto alpha = parts(p.alpha), beta = parts(p.beta);
    const float scalars[] = {alpha[0], alpha[1], beta[0], beta[1]};
    std::vector<T> result(static_cast<std::size_t>(out));
    std::vector<Array> arrays = {array("a", p.a.data(), {c.rows, p.a_columns}),
                                 array("x", xv.array.data(), {(in - 1) * xv.inc + 1}),
                                 array("scalars", scalars, {1, 4}), array("y", result.data(), {out, 1})};
    std::vector<T> y_in;
    if (c.beta != kernels::Scalar::zero) {
      y_in.resize(static_cast<std::size_t>(out));
      const T* from = first_element(y, out, incy);
      for (Int i = 0; i < out; ++i) y_in[static_cast<std::size_t>(i)] = from[i * incy];
      arrays.push_back(array("y_in", y_in.data(), {out, 1}));
    }
    run(std::move(arrays));
    out_vector(result, y, incy);
  });
}

// y = beta y, where the product does not count.
template <class T>
void only_scale(Int n, T beta, T* y, Int incy) {
  if (beta == T(1)) return;
  if (beta != T(0)) return scal(n, beta, y, std::abs(incy));
  for (Int i = 0; i < n; ++i) y[i * std::abs(incy)] = T(0);
}

// op of a matrix in rows: what transposing and conjugating is left when columns have become rows.
struct RowOp {
  bool transpose, conjugate;
};
RowOp row_op(Layout layout, Transpose trans) {
  return {(trans != Transpose::no_trans) != by_columns(layout), trans == Transpose::conj_trans};
}

}  // namespace

template <class T>
void gemv(Layout layout, Transpose trans, Int m, Int n, T alpha, const T* a, Int lda, const T* x, Int incx, T beta,
          T* y, Int incy) {
  Arguments("gemv")
      .word(layout)
      .word("trans", trans)
      .size("m", m)
      .size("n", n)
      .leading("lda", lda, layout, m, n)
      .step("incx", incx)
      .step("incy", incy);
  if (m == 0 || n == 0) return;
  if (alpha == T(0)) return only_scale(trans == Transpose::no_trans ? m : n, beta, y, incy);
  const Int rows = by_columns(layout) ? n : m, columns = by_columns(layout) ? m : n;
  const RowOp op = row_op(layout, trans);
  Product<T> p{{.structure = Structure::general,
                .rows = rows,
                .columns = columns,
                .transpose = op.transpose,
                .conjugate = op.conjugate},
               -1,
               -1,
               alpha,
               beta,
               in_matrix(rows, columns, a, lda),
               columns};
  multiply("gemv", std::move(p), x, incx, y, incy,
           [&] { native::gemv(layout, trans, m, n, alpha, a, lda, x, incx, beta, y, incy); });
}

template <class T>
void gbmv(Layout layout, Transpose trans, Int m, Int n, Int kl, Int ku, T alpha, const T* a, Int lda, const T* x,
          Int incx, T beta, T* y, Int incy) {
  Arguments("gbmv")
      .word(layout)
      .word("trans", trans)
      .size("m", m)
      .size("n", n)
      .size("kl", kl)
      .size("ku", ku)
      .band("lda", lda, kl + ku + 1)
      .step("incx", incx)
      .step("incy", incy);
  if (m == 0 || n == 0) return;
  if (alpha == T(0)) return only_scale(trans == Transpose::no_trans ? m : n, beta, y, incy);
  const Int rows = by_columns(layout) ? n : m, columns = by_columns(layout) ? m : n;
  const Int below = by_columns(layout) ? ku : kl, above = by_columns(layout) ? kl : ku;
  const RowOp op = row_op(layout, trans);
  Product<T> p{{.structure = Structure::general,
                .rows = rows,
                .columns = columns,
                .transpose = op.transpose,
                .conjugate = op.conjugate},
               below,
               above,
               alpha,
               beta,
               in_matrix(rows, kl + ku + 1, a, lda),
               kl + ku + 1};
  multiply("gbmv", std::move(p), x, incx, y, incy,
           [&] { native::gbmv(layout, trans, m, n, kl, ku, alpha, a, lda, x, incx, beta, y, incy); });
}

namespace {

// symv, hemv and their kin: the conjugate of a hermitian matrix by columns is itself by rows.
template <class T>
Product<T> self_adjoint(Layout layout, Uplo uplo, Int n, T alpha, T beta, Packed<T> a, Int a_columns) {
  return {{.structure = kSelfAdjoint<T>,
           .triangle = triangle_of(layout, uplo),
           .rows = n,
           .columns = n,
           .conjugate = is_complex<T> && by_columns(layout)},
          -1,
          -1,
          alpha,
          beta,
          std::move(a),
          a_columns};
}
template <class T>
void set_band(Product<T>& p, Int k) {
  p.below = p.config.triangle == Triangle::lower ? k : 0;
  p.above = p.config.triangle == Triangle::upper ? k : 0;
}
template <class T>
constexpr std::string_view self_name(std::string_view real, std::string_view complex) {
  return is_complex<T> ? complex : real;
}

}  // namespace

template <class T>
void hemv(Layout layout, Uplo uplo, Int n, T alpha, const T* a, Int lda, const T* x, Int incx, T beta, T* y, Int incy) {
  const std::string_view name = self_name<T>("symv", "hemv");
  Arguments(name)
      .word(layout)
      .word(uplo)
      .size("n", n)
      .leading("lda", lda, layout, n, n)
      .step("incx", incx)
      .step("incy", incy);
  if (n == 0) return;
  if (alpha == T(0)) return only_scale(n, beta, y, incy);
  multiply(name, self_adjoint(layout, uplo, n, alpha, beta, in_matrix(n, n, a, lda), n), x, incx, y, incy,
           [&] { native::hemv(layout, uplo, n, alpha, a, lda, x, incx, beta, y, incy); });
}

template <class T>
void hbmv(Layout layout, Uplo uplo, Int n, Int k, T alpha, const T* a, Int lda, const T* x, Int incx, T beta, T* y,
          Int incy) {
  const std::string_view name = self_name<T>("sbmv", "hbmv");
  Arguments(name)
      .word(layout)
      .word(uplo)
      .size("n", n)
      .size("k", k)
      .band("lda", lda, k + 1)
      .step("incx", incx)
      .step("incy", incy);
  if (n == 0) return;
  if (alpha == T(0)) return only_scale(n, beta, y, incy);
  Product<T> p = self_adjoint(layout, uplo, n, alpha, beta, in_matrix(n, k + 1, a, lda), k + 1);
  set_band(p, k);
  multiply(name, std::move(p), x, incx, y, incy,
           [&] { native::hbmv(layout, uplo, n, k, alpha, a, lda, x, incx, beta, y, incy); });
}

template <class T>
void hpmv(Layout layout, Uplo uplo, Int n, T alpha, const T* ap, const T* x, Int incx, T beta, T* y, Int incy) {
  const std::string_view name = self_name<T>("spmv", "hpmv");
  Arguments(name).word(layout).word(uplo).size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0) return;
  if (alpha == T(0)) return only_scale(n, beta, y, incy);
  const bool upper = triangle_of(layout, uplo) == Triangle::upper;
  multiply(name, self_adjoint<T>(layout, uplo, n, alpha, beta, {unpacked(ap, n, upper), nullptr}, n), x, incx, y, incy,
           [&] { native::hpmv(layout, uplo, n, alpha, ap, x, incx, beta, y, incy); });
}

namespace {

template <class T>
Product<T> triangular(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, Packed<T> a, Int a_columns) {
  const RowOp op = row_op(layout, trans);
  return {{.structure = diag == Diag::unit ? Structure::unit_triangular : Structure::triangular,
           .triangle = triangle_of(layout, uplo),
           .rows = n,
           .columns = n,
           .transpose = op.transpose,
           .conjugate = op.conjugate},
          -1,
          -1,
          T(1),
          T(0),
          std::move(a),
          a_columns};
}

}  // namespace

template <class T>
void trmv(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, const T* a, Int lda, T* x, Int incx) {
  Arguments("trmv").triangle(layout, uplo, trans, diag, n).leading("lda", lda, layout, n, n).step("incx", incx);
  if (n == 0) return;
  multiply("trmv", triangular(layout, uplo, trans, diag, n, in_matrix(n, n, a, lda), n), x, incx, x, incx,
           [&] { native::trmv(layout, uplo, trans, diag, n, a, lda, x, incx); });
}

template <class T>
void tbmv(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, Int k, const T* a, Int lda, T* x, Int incx) {
  Arguments("tbmv").triangle(layout, uplo, trans, diag, n).size("k", k).band("lda", lda, k + 1).step("incx", incx);
  if (n == 0) return;
  Product<T> p = triangular(layout, uplo, trans, diag, n, in_matrix(n, k + 1, a, lda), k + 1);
  set_band(p, k);
  multiply("tbmv", std::move(p), x, incx, x, incx,
           [&] { native::tbmv(layout, uplo, trans, diag, n, k, a, lda, x, incx); });
}

template <class T>
void tpmv(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, const T* ap, T* x, Int incx) {
  Arguments("tpmv").triangle(layout, uplo, trans, diag, n).step("incx", incx);
  if (n == 0) return;
  const bool upper = triangle_of(layout, uplo) == Triangle::upper;
  multiply("tpmv", triangular<T>(layout, uplo, trans, diag, n, {unpacked(ap, n, upper), nullptr}, n), x, incx, x, incx,
           [&] { native::tpmv(layout, uplo, trans, diag, n, ap, x, incx); });
}

namespace {

// The same for doubles: a product of one or two columns with as many rows.
template <class T>
void wide_update(Structure structure, Int rows, Int columns, T alpha, const InVector<T>& x, const InVector<T>* y,
                 bool conjugate, std::vector<T>& a) {
  const bool is_self = structure != Structure::general, is_hermitian = structure == Structure::hermitian;
  const Int inner = is_self && y ? 2 : 1;
  std::vector<T> u(static_cast<std::size_t>(rows * inner)), v(static_cast<std::size_t>(inner * columns));
  const auto put = [&](Int which, const InVector<T>& left, const InVector<T>& right, T factor) {
    for (Int i = 0; i < rows; ++i)
      u[static_cast<std::size_t>(i * inner + which)] = factor * left.array.data()[i * left.inc];
    for (Int j = 0; j < columns; ++j) {
      v[static_cast<std::size_t>(which * columns + j)] =
          conj_if(right.array.data()[j * right.inc], is_self ? is_hermitian : conjugate);
    }
  };
  put(0, x, y ? *y : x, alpha);
  if (inner == 2) put(1, *y, x, conj_if(alpha, is_hermitian));
  gemm<T>(Layout::row_major, Transpose::no_trans, Transpose::no_trans, rows, columns, inner, T(1), u.data(), inner,
          v.data(), columns, T(1), a.data(), columns);
  if constexpr (is_complex<T>) {
    for (Int i = 0; is_hermitian && i < rows; ++i) a[static_cast<std::size_t>(i * columns + i)].imag(0);
  }
}

// A = A + alpha x y^T …, all in rows; `a` is n x columns, dense.
template <class T, class Native, class Store>
void update(std::string_view name, Structure structure, Triangle triangle, Int rows, Int columns, T alpha,
            const InVector<T>& x, const InVector<T>* y, bool conjugate, std::vector<T> a, Native&& native,
            Store&& store) {
  if constexpr (is_wide<T>) {
    if (!is_native()) {
      wide_update(structure, rows, columns, alpha, x, y, conjugate, a);
      return store(a);
    }
  }
  kernels::RankUpdateConfig config{.structure = structure,
                                   .triangle = triangle,
                                   .x = {rows, x.inc, is_complex<T>},
                                   .y = {},
                                   .has_y = y != nullptr,
                                   .conjugate = conjugate};
  if (y) config.y = {structure == Structure::general ? columns : rows, y->inc, is_complex<T>};
  const std::string key = fmt::format("{}{} {}x{} {}:{} {}{}", static_cast<int>(structure), static_cast<int>(triangle),
                                      rows, columns, x.inc, y ? y->inc : 0, y != nullptr, conjugate);
  dispatch<T>(name, {key, [config](Target t) { return kernels::rank_update(config, t); }}, native, [&](auto run) {
    const auto scalars = parts(alpha);
    std::vector<Array> arrays = {array("a", a.data(), {rows, columns}),
                                 array("x", x.array.data(), {(rows - 1) * x.inc + 1}),
                                 array("scalars", scalars.data(), {1, 2})};
    if (y) arrays.push_back(array("y", y->array.data(), {(config.y.n - 1) * y->inc + 1}));
    run(std::move(arrays));
    store(a);
  });
}

template <class T>
std::vector<T> dense(Int rows, Int columns, const T* a, Int lda) {
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  for (Int i = 0; i < rows; ++i) std::copy_n(a + i * lda, columns, out.data() + i * columns);
  return out;
}

template <class T>
void ger_of(std::string_view name, bool conjugate, Layout layout, Int m, Int n, T alpha, const T* x, Int incx,
            const T* y, Int incy, T* a, Int lda) {
  Arguments(name)
      .word(layout)
      .size("m", m)
      .size("n", n)
      .step("incx", incx)
      .step("incy", incy)
      .leading("lda", lda, layout, m, n);
  if (m == 0 || n == 0 || alpha == T(0)) return;
  const bool flip = by_columns(layout);
  const Int rows = flip ? n : m, columns = flip ? m : n;
  // The transpose of x conj(y)^T is conj(y) x^T.
  const InVector<T> u = flip ? in_vector(n, y, incy, conjugate) : in_vector(m, x, incx);
  const InVector<T> v = flip ? in_vector(m, x, incx) : in_vector(n, y, incy);
  update(
      name, Structure::general, Triangle::upper, rows, columns, alpha, u, &v, conjugate && !flip,
      dense(rows, columns, a, lda),
      [&] {
        conjugate ? native::gerc(layout, m, n, alpha, x, incx, y, incy, a, lda)
                  : native::ger(layout, m, n, alpha, x, incx, y, incy, a, lda);
      },
      [&](const std::vector<T>& result) { out_matrix(result.data(), rows, columns, a, lda); });
}

// her and her2 with their kin: by columns a hermitian matrix is its conjugate by rows, and so are the vectors.
template <class T, class Native, class Store>
void self_update(std::string_view name, Layout layout, Uplo uplo, Int n, T alpha, const T* x, Int incx, const T* y,
                 Int incy, std::vector<T> a, Native&& native, Store&& store) {
  const bool flip = by_columns(layout), conjugate = is_complex<T> && flip;
  InVector<T> u = in_vector(n, x, incx, conjugate), v;
  if (y) v = in_vector(n, y, incy, conjugate);
  if (y && conjugate) std::swap(u, v);
  update(name, kSelfAdjoint<T>, triangle_of(layout, uplo), n, n, alpha, u, y ? &v : nullptr, false, std::move(a),
         native, store);
}

}  // namespace

template <class T>
void ger(Layout layout, Int m, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* a, Int lda) {
  ger_of(is_complex<T> ? "geru" : "ger", false, layout, m, n, alpha, x, incx, y, incy, a, lda);
}
template <class T>
void gerc(Layout layout, Int m, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* a, Int lda) {
  ger_of(is_complex<T> ? "gerc" : "ger", true, layout, m, n, alpha, x, incx, y, incy, a, lda);
}

template <class T>
void her(Layout layout, Uplo uplo, Int n, real_t<T> alpha, const T* x, Int incx, T* a, Int lda) {
  const std::string_view name = self_name<T>("syr", "her");
  Arguments(name).word(layout).word(uplo).size("n", n).step("incx", incx).leading("lda", lda, layout, n, n);
  if (n == 0 || alpha == 0) return;
  self_update<T>(
      name, layout, uplo, n, alpha, x, incx, nullptr, 1, dense(n, n, a, lda),
      [&] { native::her(layout, uplo, n, alpha, x, incx, a, lda); },
      [&](const std::vector<T>& r) {
        out_triangle(r.data(), n, triangle_of(layout, uplo) == Triangle::upper, a, lda);
      });
}

template <class T>
void her2(Layout layout, Uplo uplo, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* a, Int lda) {
  const std::string_view name = self_name<T>("syr2", "her2");
  Arguments(name)
      .word(layout)
      .word(uplo)
      .size("n", n)
      .step("incx", incx)
      .step("incy", incy)
      .leading("lda", lda, layout, n, n);
  if (n == 0 || alpha == T(0)) return;
  self_update<T>(
      name, layout, uplo, n, alpha, x, incx, y, incy, dense(n, n, a, lda),
      [&] { native::her2(layout, uplo, n, alpha, x, incx, y, incy, a, lda); },
      [&](const std::vector<T>& r) {
        out_triangle(r.data(), n, triangle_of(layout, uplo) == Triangle::upper, a, lda);
      });
}

template <class T>
void hpr(Layout layout, Uplo uplo, Int n, real_t<T> alpha, const T* x, Int incx, T* ap) {
  const std::string_view name = self_name<T>("spr", "hpr");
  Arguments(name).word(layout).word(uplo).size("n", n).step("incx", incx);
  if (n == 0 || alpha == 0) return;
  const bool upper = triangle_of(layout, uplo) == Triangle::upper;
  self_update<T>(
      name, layout, uplo, n, alpha, x, incx, nullptr, 1, unpacked(static_cast<const T*>(ap), n, upper),
      [&] { native::hpr(layout, uplo, n, alpha, x, incx, ap); },
      [&](const std::vector<T>& r) { repack(r, n, upper, ap); });
}

template <class T>
void hpr2(Layout layout, Uplo uplo, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* ap) {
  const std::string_view name = self_name<T>("spr2", "hpr2");
  Arguments(name).word(layout).word(uplo).size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0 || alpha == T(0)) return;
  const bool upper = triangle_of(layout, uplo) == Triangle::upper;
  self_update<T>(
      name, layout, uplo, n, alpha, x, incx, y, incy, unpacked(static_cast<const T*>(ap), n, upper),
      [&] { native::hpr2(layout, uplo, n, alpha, x, incx, y, incy, ap); },
      [&](const std::vector<T>& r) { repack(r, n, upper, ap); });
}

#define KILN_LEVEL2(T)                                                                                    \
  template void gemv(Layout, Transpose, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);           \
  template void gbmv(Layout, Transpose, Int, Int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int); \
  template void hemv(Layout, Uplo, Int, T, const T*, Int, const T*, Int, T, T*, Int);                     \
  template void hbmv(Layout, Uplo, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);                \
  template void hpmv(Layout, Uplo, Int, T, const T*, const T*, Int, T, T*, Int);                          \
  template void trmv(Layout, Uplo, Transpose, Diag, Int, const T*, Int, T*, Int);                         \
  template void tbmv(Layout, Uplo, Transpose, Diag, Int, Int, const T*, Int, T*, Int);                    \
  template void tpmv(Layout, Uplo, Transpose, Diag, Int, const T*, T*, Int);                              \
  template void ger(Layout, Int, Int, T, const T*, Int, const T*, Int, T*, Int);                          \
  template void gerc(Layout, Int, Int, T, const T*, Int, const T*, Int, T*, Int);                         \
  template void her(Layout, Uplo, Int, real_t<T>, const T*, Int, T*, Int);                                \
  template void her2(Layout, Uplo, Int, T, const T*, Int, const T*, Int, T*, Int);                        \
  template void hpr(Layout, Uplo, Int, real_t<T>, const T*, Int, T*);                                     \
  template void hpr2(Layout, Uplo, Int, T, const T*, Int, const T*, Int, T*);
KILN_LEVEL2(float)
KILN_LEVEL2(double)
KILN_LEVEL2(std::complex<float>)
KILN_LEVEL2(std::complex<double>)

}  // namespace kiln::blas
