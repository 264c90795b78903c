// Products and solutions with triangular matrices. A complex system is a real one of twice the size: rows divided by
// their diagonal, then every element a + ib as the block [a, -b; b, a], which keeps the matrix unit triangular.
#include "kernels/blas/trmm.h"

#include <cmath>
#include <limits>

#include "kernels/blas/host/matrix_call.h"
#include "kernels/blas/host/precision_scope.h"
#include "kernels/blas/host/wide.h"
#include "kernels/blas/trsm.h"

namespace kiln::blas {
namespace {

// A triangular matrix and the side that it stands on, by rows.
struct Triangular {
  Side side;
  Uplo uplo;
  Transpose trans;
  Diag diag;
};
Triangular in_rows(Layout layout, Side side, Uplo uplo, Transpose trans, Diag diag) {
  if (!by_columns(layout)) return {side, uplo, trans, diag};
  return {flipped(side), flipped(uplo), trans, diag};  // (op(A) X)^T = X^T op(A^T)
}

kernels::TriangularConfig config_of(const Triangular& t, Int m, Int n, kernels::Scalar alpha) {
  return {.m = m,
          .n = n,
          .side = t.side == Side::left ? kernels::Side::left : kernels::Side::right,
          .uplo = t.uplo == Uplo::upper ? kernels::Uplo::upper : kernels::Uplo::lower,
          .trans = t.trans != Transpose::no_trans,
          .diag = t.diag == Diag::unit ? kernels::Diag::unit : kernels::Diag::non_unit,
          .alpha = alpha,
          .precision = precision_of_scope()};
}
std::string key_of(const kernels::TriangularConfig& c) {
  return fmt::format("{}x{} {}{}{}{} {}{}", c.m, c.n, static_cast<int>(c.side), static_cast<int>(c.uplo), c.trans,
                     static_cast<int>(c.diag), static_cast<int>(c.alpha), static_cast<int>(c.precision));
}

using Make = isa::Program (*)(const kernels::TriangularConfig&, Target);

// b = the kernel's result, all by rows, m x n.
template <class T, class Native>
void run_triangular(std::string_view name, Make make, const char* result_name, const Triangular& t, Int m, Int n,
                    T alpha, const T* a, Int lda, T* b, Int ldb, Native&& native) {
  const kernels::TriangularConfig config = config_of(t, m, n, kind_of(alpha));
  const Int s = t.side == Side::left ? m : n;
  dispatch<T>(name, {key_of(config), [config, make](Target tg) { return make(config, tg); }}, native, [&](auto run) {
    const Packed<T> am = in_matrix(s, s, a, lda), bm = in_matrix<T>(m, n, b, ldb);
    Result<T> result(m, n, b, ldb);
    const std::vector<float> scalars = scalar_pair(alpha, T(0));
    std::vector<Array> arrays = {array("a", am.data(), {s, s}), array("b", bm.data(), {m, n}),
                                 result.array_of(result_name)};
    add_scalars(arrays, scalars, alpha, T(0));
    run(std::move(arrays));
    result.store();
  });
}

// op(A), zero outside of its triangle, dense.
template <class T>
std::vector<T> full_op(const Triangular& t, Int n, const T* a, Int lda) {
  std::vector<T> out(static_cast<std::size_t>(n * n));
  for (Int i = 0; i < n; ++i) {
    for (Int j = t.uplo == Uplo::upper ? i : 0; j < (t.uplo == Uplo::upper ? n : i + 1); ++j) {
      const T v = i == j && t.diag == Diag::unit ? T(1) : conj_if(a[i * lda + j], t.trans == Transpose::conj_trans);
      out[static_cast<std::size_t>(t.trans == Transpose::no_trans ? i * n + j : j * n + i)] = v;
    }
  }
  return out;
}

template <class T>
void trmm_by_product(const Triangular& t, Int m, Int n, T alpha, const T* a, Int lda, T* b, Int ldb) {
  const Int s = t.side == Side::left ? m : n;
  const std::vector<T> full = full_op(t, s, a, lda);
  Result<T> result(m, n, b, ldb);
  constexpr Transpose kPlain = Transpose::no_trans;
  if (t.side == Side::left) {
    gemm<T>(Layout::row_major, kPlain, kPlain, m, n, m, alpha, full.data(), m, b, ldb, T(0), result.values().data(), n);
  } else {
    gemm<T>(Layout::row_major, kPlain, kPlain, m, n, n, alpha, b, ldb, full.data(), n, T(0), result.values().data(), n);
  }
  result.store();
}

// A left system M X = B of size s with `columns` right sides, in real numbers.
struct RealSystem {
  std::vector<float> matrix, right;
  bool upper;
};
template <class T>
RealSystem real_system(const Triangular& t, Int s, Int columns, T alpha, const T* a, Int lda, const T* b, Int ldb) {
  std::vector<T> full = full_op(t, s, a, lda);
  const bool is_right = t.side == Side::right;  // X M = B is M^T X^T = B^T
  const bool upper = ((t.uplo == Uplo::upper) == (t.trans == Transpose::no_trans)) != is_right;
  RealSystem out{std::vector<float>(static_cast<std::size_t>(4 * s * s)),
                 std::vector<float>(static_cast<std::size_t>(2 * s * columns)), upper};
  for (Int i = 0; i < s; ++i) {
    const T diagonal = full[static_cast<std::size_t>(i * s + i)];
    for (Int j = 0; j < s; ++j) {
      const T v =
          (is_right ? full[static_cast<std::size_t>(j * s + i)] : full[static_cast<std::size_t>(i * s + j)]) / diagonal;
      float* block = out.matrix.data() + 2 * i * 2 * s + 2 * j;
      block[0] = block[2 * s + 1] = static_cast<float>(i == j ? 1 : v.real());
      block[1] = static_cast<float>(i == j ? 0 : -v.imag());
      block[2 * s] = static_cast<float>(i == j ? 0 : v.imag());
    }
    for (Int j = 0; j < columns; ++j) {
      const T v = alpha * (is_right ? b[j * ldb + i] : b[i * ldb + j]) / diagonal;
      out.right[static_cast<std::size_t>(2 * i * columns + j)] = static_cast<float>(v.real());
      out.right[static_cast<std::size_t>((2 * i + 1) * columns + j)] = static_cast<float>(v.imag());
    }
  }
  return out;
}

template <class T, class Native>
void complex_trsm(std::string_view name, const Triangular& t, Int m, Int n, T alpha, const T* a, Int lda, T* b, Int ldb,
                  Native&& native) {
  const bool is_right = t.side == Side::right;
  const Int s = is_right ? n : m, columns = is_right ? m : n;
  const bool upper = ((t.uplo == Uplo::upper) == (t.trans == Transpose::no_trans)) != is_right;
  const Triangular real{Side::left, upper ? Uplo::upper : Uplo::lower, Transpose::no_trans, Diag::unit};
  const kernels::TriangularConfig config = config_of(real, 2 * s, columns, kernels::Scalar::one);
  dispatch<T>(name, {key_of(config), [config](Target tg) { return kernels::trsm(config, tg); }}, native, [&](auto run) {
    const RealSystem system = real_system(t, s, columns, alpha, a, lda, b, ldb);
    std::vector<float> x(system.right.size());
    run({array("a", system.matrix.data(), {2 * s, 2 * s}), array("b", system.right.data(), {2 * s, columns}),
         array("x", x.data(), {2 * s, columns})});
    for (Int i = 0; i < s; ++i) {
      for (Int j = 0; j < columns; ++j) {
        const T v(x[static_cast<std::size_t>(2 * i * columns + j)],
                  x[static_cast<std::size_t>((2 * i + 1) * columns + j)]);
        (is_right ? b[j * ldb + i] : b[i * ldb + j]) = v;
      }
    }
  });
}

template <class T>
using narrow_t = std::conditional_t<is_complex<T>, std::complex<float>, float>;

template <class T>
double largest(const std::vector<T>& values) {
  double out = 0;
  for (const T& v : values) out = std::max(out, static_cast<double>(std::abs(v)));
  return out;
}

// A right side as floats, divided by a power of two that brings it below 1; returns the power.
template <class T>
int narrowed(const std::vector<T>& wide, std::vector<narrow_t<T>>& out) {
  int e = 0;
  std::frexp(largest(wide), &e);
  out.resize(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) out[i] = static_cast<narrow_t<T>>(wide[i] * std::ldexp(1.0, -e));
  return e;
}

// op(A) X = alpha B in doubles: solved in float32, and corrected by solutions for what is left, which products of
// doubles tell. Each correction gains about 24 bits less the logarithm of the condition of A.
template <class T>
void refined_trsm(const Triangular& t, Int m, Int n, T alpha, const T* a, Int lda, T* b, Int ldb) {
  constexpr int kMostCorrections = 12;
  const Int s = t.side == Side::left ? m : n;
  const std::vector<T> full = full_op(t, s, a, lda);
  std::vector<narrow_t<T>> matrix;
  const int scale = narrowed(full, matrix);
  const bool upper = (t.uplo == Uplo::upper) == (t.trans == Transpose::no_trans);
  std::vector<T> target(static_cast<std::size_t>(m * n)), x(target.size()), left;
  for (Int i = 0; i < m; ++i) {
    for (Int j = 0; j < n; ++j) target[static_cast<std::size_t>(i * n + j)] = alpha * b[i * ldb + j];
  }
  left = target;
  double last = std::numeric_limits<double>::infinity();
  constexpr Transpose kPlain = Transpose::no_trans;
  for (int round = 0; round < kMostCorrections; ++round) {
    std::vector<narrow_t<T>> right;
    const int e = narrowed(left, right);
    trsm<narrow_t<T>>(Layout::row_major, t.side, upper ? Uplo::upper : Uplo::lower, kPlain, Diag::non_unit, m, n,
                      narrow_t<T>(1), matrix.data(), s, right.data(), n);
    std::vector<T> step(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) step[i] = T(right[i]) * std::ldexp(1.0, e - scale);
    const double size = largest(step), whole = round == 0 ? size : largest(x);
    if (!std::isfinite(size)) {  // NaN, infinity or a zero on the diagonal: they are the result
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += step[i];
      break;
    }
    if (round > 0 && size >= last / 2) {
      if (size <= 0x1p-40 * whole) break;
      raise(blas_rules::kTable, blas_rules::kConverges,
            {.found = fmt::format("after {} corrections the next one is {:.1e} of the solution", round, size / whole),
             .context = std::string("trsm")});
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += step[i];
    last = size;
    if (size <= 0x1p-48 * whole) break;
    left = target;
    if (t.side == Side::left) {
      gemm<T>(Layout::row_major, kPlain, kPlain, m, n, m, T(-1), full.data(), m, x.data(), n, T(1), left.data(), n);
    } else {
      gemm<T>(Layout::row_major, kPlain, kPlain, m, n, n, T(-1), x.data(), n, full.data(), n, T(1), left.data(), n);
    }
  }
  out_matrix(x.data(), m, n, b, ldb);
}

void check(std::string_view name, Layout layout, Side side, Uplo uplo, Transpose trans, Diag diag, Int m, Int n,
           Int lda, Int ldb) {
  const Int s = side == Side::left ? m : n;
  Arguments(name)
      .word(layout)
      .word(side)
      .word(uplo)
      .word("transa", trans)
      .word(diag)
      .size("m", m)
      .size("n", n)
      .leading("lda", lda, layout, s, s)
      .leading("ldb", ldb, layout, m, n);
}

// op(A) x = b for one right side, with A dense by rows or by columns.
template <class T, class Native>
void solve_vector(std::string_view name, Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, const T* a,
                  Int lda, T* x, Int incx, Native&& native) {
  // A by columns is its transpose by rows: op changes, the side does not.
  Triangular t{Side::left, uplo, trans, diag};
  bool conjugated = false;
  if (by_columns(layout)) {
    t.uplo = flipped(uplo);
    t.trans = trans == Transpose::no_trans ? Transpose::trans : Transpose::no_trans;
    conjugated = trans == Transpose::conj_trans;
  }
  const InVector<T> b = in_vector<T>(n, x, incx, conjugated);
  std::vector<T> right(static_cast<std::size_t>(n));
  for (Int i = 0; i < n; ++i) right[static_cast<std::size_t>(i)] = b.array.data()[i * b.inc];
  bool on_device = true;
  const auto native_instead = [&] {
    on_device = false;
    native();
  };
  if constexpr (is_wide<T>) {
    if (is_native()) {
      native();
      return note_native<T>(name);
    }
    refined_trsm(t, n, 1, T(1), a, lda, right.data(), 1);
  } else if constexpr (is_complex<T>) {
    complex_trsm(name, t, n, 1, T(1), a, lda, right.data(), 1, native_instead);
  } else {
    run_triangular(name, &kernels::trsm, "x", t, n, 1, T(1), a, lda, right.data(), 1, native_instead);
  }
  if (!on_device) return;
  if (conjugated) {
    for (T& v : right) v = conj_if(v, true);  // conj(A) x = b is A conj(x) = conj(b)
  }
  out_vector(right, x, incx);
}

}  // namespace

template <class T>
void trmm(Layout layout, Side side, Uplo uplo, Transpose trans, Diag diag, Int m, Int n, T alpha, const T* a, Int lda,
          T* b, Int ldb) {
  check("trmm", layout, side, uplo, trans, diag, m, n, lda, ldb);
  if (m == 0 || n == 0) return;
  const Triangular t = in_rows(layout, side, uplo, trans, diag);
  const Int rm = by_columns(layout) ? n : m, rn = by_columns(layout) ? m : n;
  if (alpha == T(0)) return only_scale(rm, rn, T(0), b, ldb);
  const auto native = [&] { native::trmm(layout, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb); };
  if constexpr (is_complex<T> || is_wide<T>) {
    if (is_native()) {
      native();
      return note_native<T>("trmm");
    }
    trmm_by_product(t, rm, rn, alpha, a, lda, b, ldb);
  } else {
    run_triangular("trmm", &kernels::trmm, "c", t, rm, rn, alpha, a, lda, b, ldb, native);
  }
}

template <class T>
void trsm(Layout layout, Side side, Uplo uplo, Transpose trans, Diag diag, Int m, Int n, T alpha, const T* a, Int lda,
          T* b, Int ldb) {
  check("trsm", layout, side, uplo, trans, diag, m, n, lda, ldb);
  if (m == 0 || n == 0) return;
  const Triangular t = in_rows(layout, side, uplo, trans, diag);
  const Int rm = by_columns(layout) ? n : m, rn = by_columns(layout) ? m : n;
  if (alpha == T(0)) return only_scale(rm, rn, T(0), b, ldb);
  const auto native = [&] { native::trsm(layout, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb); };
  if constexpr (is_wide<T>) {
    if (!is_native()) return refined_trsm(t, rm, rn, alpha, a, lda, b, ldb);
  }
  if constexpr (is_complex<T>) {
    complex_trsm("trsm", t, rm, rn, alpha, a, lda, b, ldb, native);
  } else {
    run_triangular("trsm", &kernels::trsm, "x", t, rm, rn, alpha, a, lda, b, ldb, native);
  }
}

template <class T>
void trsv(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, const T* a, Int lda, T* x, Int incx) {
  Arguments("trsv").triangle(layout, uplo, trans, diag, n).leading("lda", lda, layout, n, n).step("incx", incx);
  if (n == 0) return;
  solve_vector("trsv", layout, uplo, trans, diag, n, a, lda, x, incx,
               [&] { native::trsv(layout, uplo, trans, diag, n, a, lda, x, incx); });
}

template <class T>
void tbsv(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, Int k, const T* a, Int lda, T* x, Int incx) {
  Arguments("tbsv").triangle(layout, uplo, trans, diag, n).size("k", k).band("lda", lda, k + 1).step("incx", incx);
  if (n == 0) return;
  const bool upper = (uplo == Uplo::upper) != by_columns(layout);
  const std::vector<T> full = is_native() ? std::vector<T>() : from_band(a, n, upper ? 0 : k, upper ? k : 0, lda);
  solve_vector("tbsv", layout, uplo, trans, diag, n, full.data(), n, x, incx,
               [&] { native::tbsv(layout, uplo, trans, diag, n, k, a, lda, x, incx); });
}

template <class T>
void tpsv(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n, const T* ap, T* x, Int incx) {
  Arguments("tpsv").triangle(layout, uplo, trans, diag, n).step("incx", incx);
  if (n == 0) return;
  const bool upper = (uplo == Uplo::upper) != by_columns(layout);
  const std::vector<T> full = is_native() ? std::vector<T>() : unpacked(ap, n, upper);
  solve_vector("tpsv", layout, uplo, trans, diag, n, full.data(), n, x, incx,
               [&] { native::tpsv(layout, uplo, trans, diag, n, ap, x, incx); });
}

#define KILN_TRIANGULAR(T)                                                                      \
  template void trmm(Layout, Side, Uplo, Transpose, Diag, Int, Int, T, const T*, Int, T*, Int); \
  template void trsm(Layout, Side, Uplo, Transpose, Diag, Int, Int, T, const T*, Int, T*, Int); \
  template void trsv(Layout, Uplo, Transpose, Diag, Int, const T*, Int, T*, Int);               \
  template void tbsv(Layout, Uplo, Transpose, Diag, Int, Int, const T*, Int, T*, Int);          \
  template void tpsv(Layout, Uplo, Transpose, Diag, Int, const T*, T*, Int);
KILN_TRIANGULAR(float)
KILN_TRIANGULAR(double)
KILN_TRIANGULAR(std::complex<float>)
KILN_TRIANGULAR(std::complex<double>)

}  // namespace kiln::blas
