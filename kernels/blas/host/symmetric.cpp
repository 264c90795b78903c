// symm, hemm and the updates of one triangle. Real ones have kernels of their own; complex ones are products of full
// matrices, of which a triangle is kept. By columns, the stored matrix is the transpose by rows.
#include "kernels/blas/symm.h"

#include "kernels/blas/herk.h"
#include "kernels/blas/host/matrix_call.h"
#include "kernels/blas/host/precision_scope.h"
#include "kernels/blas/host/wide.h"
#include "kernels/blas/syrk.h"

namespace kiln::blas {
namespace {

kernels::Uplo kernel_word(Uplo u) { return u == Uplo::upper ? kernels::Uplo::upper : kernels::Uplo::lower; }
kernels::Side kernel_word(Side s) { return s == Side::left ? kernels::Side::left : kernels::Side::right; }
Uplo row_uplo(Layout layout, Uplo u) { return by_columns(layout) ? flipped(u) : u; }
bool is_transposed(Transpose t) { return t != Transpose::no_trans; }

// The whole of a matrix that is given by a triangle of its rows.
template <class T>
std::vector<T> completed(const T* a, Int n, Int lda, bool upper, bool hermitian) {
  std::vector<T> out(static_cast<std::size_t>(n * n));
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < n; ++j) {
      const bool stored = upper ? j >= i : j <= i;
      T v = stored ? a[i * lda + j] : conj_if(a[j * lda + i], hermitian);
      if constexpr (is_complex<T>) {
        if (hermitian && i == j) v = T(v.real(), 0);
      }
      out[static_cast<std::size_t>(i * n + j)] = v;
    }
  }
  return out;
}

void check_symm(std::string_view name, Layout layout, Side side, Uplo uplo, Int m, Int n, Int lda, Int ldb, Int ldc) {
  const Int s = side == Side::left ? m : n;
  Arguments(name)
      .word(layout)
      .word(side)
      .word(uplo)
      .size("m", m)
      .size("n", n)
      .leading("lda", lda, layout, s, s)
      .leading("ldb", ldb, layout, m, n)
      .leading("ldc", ldc, layout, m, n);
}

// c = alpha a b + beta c with a full, by rows.
template <class T>
void symm_by_product(Side side, bool upper, bool hermitian, Int m, Int n, T alpha, const T* a, Int lda, const T* b,
                     Int ldb, T beta, T* c, Int ldc) {
  const Int s = side == Side::left ? m : n;
  const std::vector<T> full = completed(a, s, lda, upper, hermitian);
  constexpr Transpose kPlain = Transpose::no_trans;
  if (side == Side::left) {
    gemm<T>(Layout::row_major, kPlain, kPlain, m, n, m, alpha, full.data(), m, b, ldb, beta, c, ldc);
  } else {
    gemm<T>(Layout::row_major, kPlain, kPlain, m, n, n, alpha, b, ldb, full.data(), n, beta, c, ldc);
  }
}

template <class T>
void run_symm(Layout layout, Side side, Uplo uplo, Int m, Int n, T alpha, const T* a, Int lda, const T* b, Int ldb,
              T beta, T* c, Int ldc) {
  const Side row_side = by_columns(layout) ? flipped(side) : side;
  const Int rm = by_columns(layout) ? n : m, rn = by_columns(layout) ? m : n, s = row_side == Side::left ? rm : rn;
  const kernels::SymmConfig config{.m = rm,
                                   .n = rn,
                                   .side = kernel_word(row_side),
                                   .uplo = kernel_word(row_uplo(layout, uplo)),
                                   .alpha = kind_of(alpha),
                                   .beta = kind_of(beta),
                                   .precision = precision_of_scope()};
  const std::string key =
      fmt::format("{}x{} {}{} {}{}{}", rm, rn, static_cast<int>(config.side), static_cast<int>(config.uplo),
                  static_cast<int>(config.alpha), static_cast<int>(config.beta), static_cast<int>(config.precision));
  dispatch<T>(
      "symm", {key, [config](Target t) { return kernels::symm(config, t); }},
      [&] { native::symm(layout, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc); },
      [&](auto run) {
        const Packed<T> am = in_matrix(s, s, a, lda), bm = in_matrix(rm, rn, b, ldb);
        const Packed<T> c_in = in_matrix<T>(rm, rn, c, ldc);
        Result<T> result(rm, rn, c, ldc);
        const std::vector<float> scalars = scalar_pair(alpha, beta);
        std::vector<Array> arrays = {array("a", am.data(), {s, s}), array("b", bm.data(), {rm, rn}),
                                     result.array_of("c")};
        if (beta != T(0)) arrays.push_back(array("c_in", c_in.data(), {rm, rn}));
        add_scalars(arrays, scalars, alpha, beta);
        run(std::move(arrays));
        result.store();
      });
}

// One triangle of c = beta c, by rows.
template <class T>
void scale_triangle(Int n, bool upper, T beta, T* c, Int ldc) {
  if (beta == T(1)) return;
  for (Int i = 0; i < n; ++i) {
    for (Int j = upper ? i : 0; j < (upper ? n : i + 1); ++j) {
      c[i * ldc + j] = beta == T(0) ? T(0) : beta * c[i * ldc + j];
    }
  }
}

void check_syrk(std::string_view name, Layout layout, Uplo uplo, Transpose trans, Int n, Int k, Int lda, Int ldc) {
  const bool t = is_transposed(trans);
  Arguments(name)
      .word(layout)
      .word(uplo)
      .word("trans", trans)
      .size("n", n)
      .size("k", k)
      .leading("lda", lda, layout, t ? k : n, t ? n : k)
      .leading("ldc", ldc, layout, n, n);
}

// syrk and syr2k of real matrices; b is null for syrk.
template <class T, class Native>
void run_syrk(std::string_view name, Layout layout, Uplo uplo, Transpose trans, Int n, Int k, T alpha, const T* a,
              Int lda, const T* b, Int ldb, T beta, T* c, Int ldc, Native&& native) {
  const bool t = is_transposed(trans) != by_columns(layout);
  const Uplo rows_uplo = row_uplo(layout, uplo);
  const kernels::SyrkConfig config{
      .n = n, .k = k, .trans = t, .uplo = kernel_word(rows_uplo), .alpha = kind_of(alpha), .beta = kind_of(beta)};
  const std::string key = fmt::format("{}x{} {}{} {}{}", n, k, t, static_cast<int>(config.uplo),
                                      static_cast<int>(config.alpha), static_cast<int>(config.beta));
  const bool two = b != nullptr;
  dispatch<T>(name,
              {key, [config, two](Target tg) { return two ? kernels::syr2k(config, tg) : kernels::syrk(config, tg); }},
              native, [&](auto run) {
                const Int rows = t ? k : n, columns = t ? n : k;
                const Packed<T> am = in_matrix(rows, columns, a, lda), c_in = in_matrix<T>(n, n, c, ldc);
                const Packed<T> bm = two ? in_matrix(rows, columns, b, ldb) : Packed<T>{};
                Result<T> result(n, n, c, ldc);
                const std::vector<float> scalars = scalar_pair(alpha, beta);
                std::vector<Array> arrays = {array("a", am.data(), {rows, columns}), result.array_of("c")};
                if (two) arrays.push_back(array("b", bm.data(), {rows, columns}));
                if (beta != T(0)) arrays.push_back(array("c_in", c_in.data(), {n, n}));
                add_scalars(arrays, scalars, alpha, beta);
                run(std::move(arrays));
                result.store_triangle(rows_uplo == Uplo::upper);
              });
}

template <class T>
void run_herk(Layout layout, Uplo uplo, Transpose trans, Int n, Int k, real_t<T> alpha, const T* a, Int lda,
              real_t<T> beta, T* c, Int ldc) {
  const bool t = is_transposed(trans) != by_columns(layout);
  const Uplo rows_uplo = row_uplo(layout, uplo);
  const kernels::HerkConfig config{
      .n = n, .k = k, .trans = t, .uplo = kernel_word(rows_uplo), .alpha = kind_of(alpha), .beta = kind_of(beta)};
  const std::string key = fmt::format("{}x{} {}{} {}{}", n, k, t, static_cast<int>(config.uplo),
                                      static_cast<int>(config.alpha), static_cast<int>(config.beta));
  dispatch<T>(
      "herk", {key, [config](Target tg) { return kernels::herk(config, tg); }},
      [&] { native::herk(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc); },
      [&](auto run) {
        const Int rows = t ? k : n, columns = t ? n : k;
        const Packed<T> am = in_matrix(rows, columns, a, lda), c_in = in_matrix<T>(n, n, c, ldc);
        Result<T> result(n, n, c, ldc);
        const std::vector<float> scalars = scalar_pair(T(alpha), T(beta));
        std::vector<Array> arrays = {array("a", am.data(), {rows, columns}), result.array_of("c")};
        if (beta != 0) arrays.push_back(array("c_in", c_in.data(), {n, n}));
        add_scalars(arrays, scalars, T(alpha), T(beta));
        run(std::move(arrays));
        result.store_triangle(rows_uplo == Uplo::upper);
      });
}

// All by rows. OpenBLAS multiplies the whole.
template <class T>
void run_gemmt(Uplo uplo, bool at, bool bt, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta,
               T* c, Int ldc) {
  const kernels::SyrkConfig config{
      .n = n, .k = k, .trans = at, .uplo = kernel_word(uplo), .alpha = kind_of(alpha), .beta = kind_of(beta)};
  const std::string key = fmt::format("{}x{} {}{}{} {}{}", n, k, at, bt, static_cast<int>(config.uplo),
                                      static_cast<int>(config.alpha), static_cast<int>(config.beta));
  Result<T> result(n, n, c, ldc);
  dispatch<T>(
      "gemmt", {key, [config, bt](Target tg) { return kernels::gemmtr(config, bt, tg); }},
      [&] {
        for (Int i = 0; i < n && beta != T(0); ++i) std::copy_n(c + i * ldc, n, result.values().data() + i * n);
        const auto word = [](bool t) { return t ? Transpose::trans : Transpose::no_trans; };
        native::gemm(Layout::row_major, word(at), word(bt), n, n, k, alpha, a, lda, b, ldb, beta,
                     result.values().data(), n);
      },
      [&](auto run) {
        const Int a_rows = at ? k : n, a_columns = at ? n : k, b_rows = bt ? n : k, b_columns = bt ? k : n;
        const Packed<T> am = in_matrix(a_rows, a_columns, a, lda), bm = in_matrix(b_rows, b_columns, b, ldb);
        const Packed<T> c_in = in_matrix<T>(n, n, c, ldc);
        const std::vector<float> scalars = scalar_pair(alpha, beta);
        std::vector<Array> arrays = {array("a", am.data(), {a_rows, a_columns}),
                                     array("b", bm.data(), {b_rows, b_columns}), result.array_of("c")};
        if (beta != T(0)) arrays.push_back(array("c_in", c_in.data(), {n, n}));
        add_scalars(arrays, scalars, alpha, beta);
        run(std::move(arrays));
      });
  result.store_triangle(uplo == Uplo::upper);
}

// One triangle of alpha op(a) op'(b) + … by whole products: as many as there are terms.
template <class T>
struct Term {
  T alpha;
  const T *a, *b;
  Int lda, ldb;
};
template <class T>
void triangle_by_products(Layout layout, Uplo uplo, Transpose ta, Transpose tb, Int n, Int k,
                          const std::vector<Term<T>>& terms, T beta, T* c, Int ldc, bool real_diagonal) {
  std::vector<T> full(static_cast<std::size_t>(n * n));
  if (beta != T(0)) {
    for (Int i = 0; i < n; ++i) std::copy_n(c + i * ldc, n, full.data() + i * n);
  }
  T factor = beta;
  for (const Term<T>& t : terms) {
    gemm<T>(layout, ta, tb, n, n, k, t.alpha, t.a, t.lda, t.b, t.ldb, factor, full.data(), n);
    factor = T(1);
  }
  if constexpr (is_complex<T>) {
    for (Int i = 0; real_diagonal && i < n; ++i) full[static_cast<std::size_t>(i * n + i)].imag(0);
  }
  out_triangle(full.data(), n, row_uplo(layout, uplo) == Uplo::upper, c, ldc);
}

}  // namespace

template <class T>
void symm(Layout layout, Side side, Uplo uplo, Int m, Int n, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta,
          T* c, Int ldc) {
  check_symm("symm", layout, side, uplo, m, n, lda, ldb, ldc);
  if (m == 0 || n == 0) return;
  const Int rm = by_columns(layout) ? n : m, rn = by_columns(layout) ? m : n;
  if (alpha == T(0)) return only_scale(rm, rn, beta, c, ldc);
  if constexpr (is_complex<T> || is_wide<T>) {
    if (is_native()) {
      native::symm(layout, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
      return note_native<T>("symm");
    }
    symm_by_product(by_columns(layout) ? flipped(side) : side, row_uplo(layout, uplo) == Uplo::upper, false, rm, rn,
                    alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    run_symm(layout, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
  }
}

template <class T>
void hemm(Layout layout, Side side, Uplo uplo, Int m, Int n, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta,
          T* c, Int ldc) {
  if constexpr (!is_complex<T>) {
    symm(layout, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    check_symm("hemm", layout, side, uplo, m, n, lda, ldb, ldc);
    if (m == 0 || n == 0) return;
    const Int rm = by_columns(layout) ? n : m, rn = by_columns(layout) ? m : n;
    if (alpha == T(0)) return only_scale(rm, rn, beta, c, ldc);
    if (is_native()) {
      native::hemm(layout, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
      return note_native<T>("hemm");
    }
    symm_by_product(by_columns(layout) ? flipped(side) : side, row_uplo(layout, uplo) == Uplo::upper, true, rm, rn,
                    alpha, a, lda, b, ldb, beta, c, ldc);
  }
}

template <class T>
void syrk(Layout layout, Uplo uplo, Transpose trans, Int n, Int k, T alpha, const T* a, Int lda, T beta, T* c,
          Int ldc) {
  check_syrk("syrk", layout, uplo, trans, n, k, lda, ldc);
  if (n == 0) return;
  if (k == 0 || alpha == T(0)) return scale_triangle(n, row_uplo(layout, uplo) == Uplo::upper, beta, c, ldc);
  const auto native = [&] { native::syrk(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc); };
  if constexpr (is_complex<T> || is_wide<T>) {
    if (is_native()) {
      native();
      return note_native<T>("syrk");
    }
    const bool t = is_transposed(trans);
    triangle_by_products<T>(layout, uplo, t ? Transpose::trans : Transpose::no_trans,
                            t ? Transpose::no_trans : Transpose::trans, n, k, {{alpha, a, a, lda, lda}}, beta, c, ldc,
                            false);
  } else {
    run_syrk<T>("syrk", layout, uplo, trans, n, k, alpha, a, lda, nullptr, 0, beta, c, ldc, native);
  }
}

template <class T>
void herk(Layout layout, Uplo uplo, Transpose trans, Int n, Int k, real_t<T> alpha, const T* a, Int lda, real_t<T> beta,
          T* c, Int ldc) {
  if constexpr (!is_complex<T>) {
    syrk(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  } else {
    check_syrk("herk", layout, uplo, trans, n, k, lda, ldc);
    if (n == 0) return;
    if (k == 0 || alpha == 0) return scale_triangle(n, row_uplo(layout, uplo) == Uplo::upper, T(beta), c, ldc);
    if constexpr (is_wide<T>) {
      if (!is_native()) {
        const bool t = is_transposed(trans);
        return triangle_by_products<T>(layout, uplo, t ? Transpose::conj_trans : Transpose::no_trans,
                                       t ? Transpose::no_trans : Transpose::conj_trans, n, k,
                                       {{T(alpha), a, a, lda, lda}}, T(beta), c, ldc, true);
      }
    }
    run_herk(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  }
}

template <class T>
void syr2k(Layout layout, Uplo uplo, Transpose trans, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb,
           T beta, T* c, Int ldc) {
  check_syrk("syr2k", layout, uplo, trans, n, k, lda, ldc);
  const bool t = is_transposed(trans);
  Arguments("syr2k").leading("ldb", ldb, layout, t ? k : n, t ? n : k);
  if (n == 0) return;
  if (k == 0 || alpha == T(0)) return scale_triangle(n, row_uplo(layout, uplo) == Uplo::upper, beta, c, ldc);
  const auto native = [&] { native::syr2k(layout, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc); };
  if constexpr (is_complex<T> || is_wide<T>) {
    if (is_native()) {
      native();
      return note_native<T>("syr2k");
    }
    triangle_by_products<T>(layout, uplo, t ? Transpose::trans : Transpose::no_trans,
                            t ? Transpose::no_trans : Transpose::trans, n, k,
                            {{alpha, a, b, lda, ldb}, {alpha, b, a, ldb, lda}}, beta, c, ldc, false);
  } else {
    run_syrk<T>("syr2k", layout, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc, native);
  }
}

template <class T>
void her2k(Layout layout, Uplo uplo, Transpose trans, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb,
           real_t<T> beta, T* c, Int ldc) {
  if constexpr (!is_complex<T>) {
    syr2k(layout, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    check_syrk("her2k", layout, uplo, trans, n, k, lda, ldc);
    const bool t = is_transposed(trans);
    Arguments("her2k").leading("ldb", ldb, layout, t ? k : n, t ? n : k);
    if (n == 0) return;
    if (k == 0 || alpha == T(0)) return scale_triangle(n, row_uplo(layout, uplo) == Uplo::upper, T(beta), c, ldc);
    if (is_native()) {
      native::her2k(layout, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      return note_native<T>("her2k");
    }
    const T first = alpha, second = std::conj(alpha);
    triangle_by_products<T>(layout, uplo, t ? Transpose::conj_trans : Transpose::no_trans,
                            t ? Transpose::no_trans : Transpose::conj_trans, n, k,
                            {{first, a, b, lda, ldb}, {second, b, a, ldb, lda}}, T(beta), c, ldc, true);
  }
}

template <class T>
void gemmt(Layout layout, Uplo uplo, Transpose ta, Transpose tb, Int n, Int k, T alpha, const T* a, Int lda, const T* b,
           Int ldb, T beta, T* c, Int ldc) {
  const bool at = is_transposed(ta), bt = is_transposed(tb);
  Arguments("gemmt")
      .word(layout)
      .word(uplo)
      .word("transa", ta)
      .word("transb", tb)
      .size("n", n)
      .size("k", k)
      .leading("lda", lda, layout, at ? k : n, at ? n : k)
      .leading("ldb", ldb, layout, bt ? n : k, bt ? k : n)
      .leading("ldc", ldc, layout, n, n);
  if (n == 0) return;
  if (k == 0 || alpha == T(0)) return scale_triangle(n, row_uplo(layout, uplo) == Uplo::upper, beta, c, ldc);
  if constexpr (is_complex<T> || is_wide<T>) {
    triangle_by_products<T>(layout, uplo, ta, tb, n, k, {{alpha, a, b, lda, ldb}}, beta, c, ldc, false);
  } else if (by_columns(layout)) {  // the transpose of the product, by rows
    run_gemmt<T>(flipped(uplo), bt, at, n, k, alpha, b, ldb, a, lda, beta, c, ldc);
  } else {
    run_gemmt<T>(uplo, at, bt, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
}

#define KILN_SYMMETRIC(T)                                                                                      \
  template void symm(Layout, Side, Uplo, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);               \
  template void hemm(Layout, Side, Uplo, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);               \
  template void syrk(Layout, Uplo, Transpose, Int, Int, T, const T*, Int, T, T*, Int);                         \
  template void herk(Layout, Uplo, Transpose, Int, Int, real_t<T>, const T*, Int, real_t<T>, T*, Int);         \
  template void syr2k(Layout, Uplo, Transpose, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);         \
  template void her2k(Layout, Uplo, Transpose, Int, Int, T, const T*, Int, const T*, Int, real_t<T>, T*, Int); \
  template void gemmt(Layout, Uplo, Transpose, Transpose, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);
KILN_SYMMETRIC(float)
KILN_SYMMETRIC(double)
KILN_SYMMETRIC(std::complex<float>)
KILN_SYMMETRIC(std::complex<double>)

}  // namespace kiln::blas
