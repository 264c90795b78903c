// gemm, one or many. By columns, c^T = op(b)^T op(a)^T by rows.
#include "kernels/blas/batched_gemm.h"
#include "kernels/blas/complex_gemm.h"
#include "kernels/blas/gemm.h"
#include "kernels/blas/host/blocking.h"
#include "kernels/blas/host/matrix_call.h"
#include "kernels/blas/host/wide.h"
#include "kernels/blas/split.h"

namespace kiln::blas {
namespace {

template <class T>
struct Operand {
  const T* data;
  Int ld, stride;
  Transpose trans;
};

// A product brought to rows.
template <class T>
struct RowProduct {
  Int m, n, k, batch;
  T alpha, beta;
  Operand<T> a, b;
  T* c;
  Int ldc, stride_c;
  kernels::Precision precision = kernels::Precision::native;
};

bool is_transposed(Transpose t) { return t != Transpose::no_trans; }

kernels::Op op_of(Transpose t) {
  return t == Transpose::no_trans ? kernels::Op::none
         : t == Transpose::trans  ? kernels::Op::transpose
                                  : kernels::Op::conjugate;
}

template <class T>
KernelOf kernel_of(const RowProduct<T>& p) {
  const kernels::Scalar alpha = kind_of(p.alpha), beta = kind_of(p.beta);
  std::string key = fmt::format("{}x{}x{} {}{} {}{}", p.m, p.n, p.k, static_cast<int>(p.a.trans),
                                static_cast<int>(p.b.trans), static_cast<int>(alpha), static_cast<int>(beta));
  if constexpr (is_complex<T>) {
    const kernels::ComplexGemmConfig config{
        .m = p.m, .n = p.n, .k = p.k, .op_a = op_of(p.a.trans), .op_b = op_of(p.b.trans), .alpha = alpha, .beta = beta};
    if (p.batch < 0) return {key, [config](Target t) { return kernels::complex_gemm(config, t); }};
    const kernels::ComplexBatchConfig many{config, p.batch, p.a.stride == 0, p.b.stride == 0};
    return {fmt::format("{} batch {} {}{}", key, p.batch, many.shares_a, many.shares_b),
            [many](Target t) { return kernels::complex_batched_gemm(many, t); }};
  } else {
    const kernels::GemmBlocking cut = gemm_blocking(p.m, p.n, p.k);
    const kernels::GemmConfig config{.m = p.m,
                                     .n = p.n,
                                     .k = p.k,
                                     .trans_a = is_transposed(p.a.trans),
                                     .trans_b = is_transposed(p.b.trans),
                                     .alpha = alpha,
                                     .beta = beta,
                                     .precision = p.precision,
                                     .blocking = cut};
    key += fmt::format(" {},{},{} {}", cut.m_tiles, cut.n_tiles, cut.k_tiles, static_cast<int>(p.precision));
    if (p.batch < 0) return {key, [config](Target t) { return kernels::gemm(config, t); }};
    const kernels::BatchedGemmConfig many{config, p.batch, p.a.stride == 0, p.b.stride == 0};
    return {fmt::format("{} batch {} {}{}", key, p.batch, many.shares_a, many.shares_b),
            [many](Target t) { return kernels::batched_gemm(many, t); }};
  }
}

// `batch` matrices of rows x columns, dense: the caller's where they are.
template <class T>
Packed<T> in_batch(const Operand<T>& o, Int rows, Int columns, Int batch) {
  if (batch < 0 || o.stride == 0) return in_matrix(rows, columns, o.data, o.ld);
  if (o.ld == columns && o.stride == rows * columns) return {{}, o.data};
  Packed<T> out;
  out.own.resize(static_cast<std::size_t>(batch * rows * columns));
  for (Int i = 0; i < batch; ++i) {
    for (Int r = 0; r < rows; ++r) {
      std::copy_n(o.data + i * o.stride + r * o.ld, columns, out.own.data() + (i * rows + r) * columns);
    }
  }
  return out;
}

template <class T>
Array batch_array(std::string name, const T* data, Int rows, Int columns, Int batch) {
  return batch < 0 ? array(std::move(name), data, {rows, columns})
                   : array(std::move(name), data, {batch, rows, columns});
}

template <class T, class Run>
void run_product(const RowProduct<T>& p, Run&& run) {
  const Int a_rows = is_transposed(p.a.trans) ? p.k : p.m, a_columns = is_transposed(p.a.trans) ? p.m : p.k;
  const Int b_rows = is_transposed(p.b.trans) ? p.n : p.k, b_columns = is_transposed(p.b.trans) ? p.k : p.n;
  const Int many = std::max<Int>(p.batch, 1);
  const Packed<T> a = in_batch(p.a, a_rows, a_columns, p.batch), b = in_batch(p.b, b_rows, b_columns, p.batch);
  const bool reads_c = p.beta != T(0);
  const Packed<T> c_in = reads_c ? in_batch<T>({p.c, p.ldc, p.stride_c, {}}, p.m, p.n, p.batch) : Packed<T>{};
  std::vector<T> result(static_cast<std::size_t>(many * p.m * p.n));
  const std::vector<float> scalars = scalar_pair(p.alpha, p.beta);
  std::vector<Array> arrays = {batch_array("a", a.data(), a_rows, a_columns,
                                           p.batch < 0       ? -1
                                           : p.a.stride == 0 ? 1
                                                             : p.batch),
                               batch_array("b", b.data(), b_rows, b_columns,
                                           p.batch < 0       ? -1
                                           : p.b.stride == 0 ? 1
                                                             : p.batch),
                               batch_array("c", result.data(), p.m, p.n, p.batch)};
  if (reads_c) arrays.push_back(batch_array("c_in", c_in.data(), p.m, p.n, p.batch));
  add_scalars(arrays, scalars, p.alpha, p.beta);
  run(std::move(arrays));
  for (Int i = 0; i < many; ++i) out_matrix(result.data() + i * p.m * p.n, p.m, p.n, p.c + i * p.stride_c, p.ldc);
}

template <class T>
RowProduct<T> in_rows(Layout layout, Transpose ta, Transpose tb, Int m, Int n, Int k, T alpha, const T* a, Int lda,
                      Int stride_a, const T* b, Int ldb, Int stride_b, T beta, T* c, Int ldc, Int stride_c, Int batch) {
  const Operand<T> first{a, lda, stride_a, ta}, second{b, ldb, stride_b, tb};
  if (by_columns(layout)) return {n, m, k, batch, alpha, beta, second, first, c, ldc, stride_c};
  return {m, n, k, batch, alpha, beta, first, second, c, ldc, stride_c};
}

void check(std::string_view name, Layout layout, Transpose ta, Transpose tb, Int m, Int n, Int k, Int lda, Int ldb,
           Int ldc) {
  const bool at = is_transposed(ta), bt = is_transposed(tb);
  Arguments(name)
      .word(layout)
      .word("transa", ta)
      .word("transb", tb)
      .size("m", m)
      .size("n", n)
      .size("k", k)
      .leading("lda", lda, layout, at ? k : m, at ? m : k)
      .leading("ldb", ldb, layout, bt ? n : k, bt ? k : n)
      .leading("ldc", ldc, layout, m, n);
}

}  // namespace

template <class T>
void gemm(Layout layout, Transpose ta, Transpose tb, Int m, Int n, Int k, T alpha, const T* a, Int lda, const T* b,
          Int ldb, T beta, T* c, Int ldc) {
  check("gemm", layout, ta, tb, m, n, k, lda, ldb, ldc);
  if (m == 0 || n == 0) return;
  const RowProduct<T> p = in_rows(layout, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, -1);
  if (k == 0 || alpha == T(0)) return only_scale(p.m, p.n, beta, c, ldc);
  // Small products are over before a name for them is made.
  if (is_native()) {
    native::gemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    backend::note_native([p] { return call_of<T>(routine_name<T>("gemm"), kernel_of(p)); });
    return;
  }
  if constexpr (is_wide<T>) {
    return wide_gemm(p.a.trans, p.b.trans, p.m, p.n, p.k, alpha, p.a.data, p.a.ld, p.b.data, p.b.ld, beta, c, ldc);
  } else {
    dispatch<T>(
        "gemm", kernel_of(p), [] {}, [&](auto run) { run_product(p, run); });
  }
}

void gemm(Precision precision, Layout layout, Transpose ta, Transpose tb, Int m, Int n, Int k, float alpha,
          const float* a, Int lda, const float* b, Int ldb, float beta, float* c, Int ldc) {
  check("gemm", layout, ta, tb, m, n, k, lda, ldb, ldc);
  if (m == 0 || n == 0) return;
  RowProduct<float> p = in_rows(layout, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, -1);
  if (k == 0 || alpha == 0) return only_scale(p.m, p.n, beta, c, ldc);
  p.precision = static_cast<kernels::Precision>(precision);
  dispatch<float>(
      "gemm", kernel_of(p), [&] { native::gemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); },
      [&](auto run) { run_product(p, run); });
}

double product_error(Precision precision) {
  // A float32 product is rounded once.
  return precision == Precision::fp32 ? 0x1p-24 : kernels::product_error(static_cast<kernels::Precision>(precision));
}

template <class T>
void gemm_strided_batched(Layout layout, Transpose ta, Transpose tb, Int m, Int n, Int k, T alpha, const T* a, Int lda,
                          Int stride_a, const T* b, Int ldb, Int stride_b, T beta, T* c, Int ldc, Int stride_c,
                          Int batch) {
  check("gemm_strided_batched", layout, ta, tb, m, n, k, lda, ldb, ldc);
  Arguments("gemm_strided_batched")
      .size("batch", batch)
      .size("stride_a", stride_a)
      .size("stride_b", stride_b)
      .size("stride_c", stride_c);
  if (m == 0 || n == 0 || batch == 0) return;
  const RowProduct<T> p =
      in_rows(layout, ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch);
  if (k == 0 || alpha == T(0)) {
    for (Int i = 0; i < batch; ++i) only_scale(p.m, p.n, beta, c + i * stride_c, ldc);
    return;
  }
  const auto one = [&](Int i, auto&& call) {
    call(layout, ta, tb, m, n, k, alpha, a + i * stride_a, lda, b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
  };
  if constexpr (is_wide<T>) {
    if (!is_native()) {
      return wide_batch<T>(p.a.trans, p.b.trans, p.m, p.n, p.k, alpha, p.a.data, p.a.ld, p.a.stride, p.b.data, p.b.ld,
                           p.b.stride, beta, c, ldc, stride_c, batch);
    }
  }
  dispatch<T>(
      "gemm_strided_batched", kernel_of(p),
      [&] {
        for (Int i = 0; i < batch; ++i) one(i, [](auto... args) { native::gemm(args...); });
      },
      [&](auto run) { run_product(p, run); });
}

template <class T>
void gemm_batched(Layout layout, Transpose ta, Transpose tb, Int m, Int n, Int k, T alpha, const T* const* a, Int lda,
                  const T* const* b, Int ldb, T beta, T* const* c, Int ldc, Int batch) {
  check("gemm_batched", layout, ta, tb, m, n, k, lda, ldb, ldc);
  Arguments("gemm_batched").size("batch", batch);
  if (m == 0 || n == 0 || batch == 0) return;
  // Pointers are gathered into batches by stride, which one program computes.
  const bool at = is_transposed(ta), bt = is_transposed(tb);
  const bool columns = by_columns(layout);
  const auto gather = [&](const T* const* from, Int rows, Int row_length, Int ld) {
    const Int r = columns ? row_length : rows, l = columns ? rows : row_length;
    std::vector<T> out(static_cast<std::size_t>(batch * r * l));
    for (Int i = 0; i < batch; ++i) {
      for (Int j = 0; j < r; ++j) std::copy_n(from[i] + j * ld, l, out.data() + (i * r + j) * l);
    }
    return out;
  };
  const std::vector<T> as = gather(a, at ? k : m, at ? m : k, lda), bs = gather(b, bt ? n : k, bt ? k : n, ldb);
  std::vector<T> cs(static_cast<std::size_t>(batch * m * n));
  if (beta != T(0)) cs = gather(c, m, n, ldc);
  const auto ld = [&](Int rows, Int row_length) { return std::max<Int>(1, columns ? rows : row_length); };
  gemm_strided_batched<T>(layout, ta, tb, m, n, k, alpha, as.data(), ld(at ? k : m, at ? m : k), m * k, bs.data(),
                          ld(bt ? n : k, bt ? k : n), k * n, beta, cs.data(), ld(m, n), m * n, batch);
  for (Int i = 0; i < batch; ++i) out_matrix(cs.data() + i * m * n, columns ? n : m, columns ? m : n, c[i], ldc);
}

#define KILN_PRODUCTS(T)                                                                                            \
  template void gemm(Layout, Transpose, Transpose, Int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);     \
  template void gemm_strided_batched(Layout, Transpose, Transpose, Int, Int, Int, T, const T*, Int, Int, const T*,  \
                                     Int, Int, T, T*, Int, Int, Int);                                               \
  template void gemm_batched(Layout, Transpose, Transpose, Int, Int, Int, T, const T* const*, Int, const T* const*, \
                             Int, T, T* const*, Int, Int);
KILN_PRODUCTS(float)
KILN_PRODUCTS(double)
KILN_PRODUCTS(std::complex<float>)
KILN_PRODUCTS(std::complex<double>)

}  // namespace kiln::blas
