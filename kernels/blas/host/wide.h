// Products of doubles on a device, by split arithmetic: rows of op(a) and columns of op(b) divided by powers of two,
// cut into two float32 numbers, multiplied by kernels/blas/double_gemm.h. Then for every element
//
//   |error| <= k 2^-42 max |row of op(a)| max |column of op(b)|.
//
// All routines on doubles are brought to it, so the bound, with k the length of their sums, is that of each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/blas/host/types.h"

namespace kiln::blas {

template <class T>
inline constexpr bool is_wide = std::is_same_v<real_t<T>, double>;

// A matrix in memory, by rows.
struct Stored {
  const double* data;
  Int ld;
};

// op(a[i]) op(b[i]) for all i, m x n each, dense, one after the other, by one program. By rows; where all of a, or all
// of b, are one matrix, it is given once. `operation` is what last_call tells.
std::vector<double> wide_products(std::string_view operation, bool trans_a, bool trans_b, Int m, Int n, Int k,
                                  std::span<const Stored> a, std::span<const Stored> b);

// The same for one product.
std::vector<double> wide_product(std::string_view operation, bool trans_a, bool trans_b, Int m, Int n, Int k,
                                 const double* a, Int lda, const double* b, Int ldb);

// c = alpha op(a) op(b) + beta c by rows, on a device; with a batch, for matrices `stride` apart.
template <class T>
void wide_batch(Transpose ta, Transpose tb, Int m, Int n, Int k, T alpha, const T* a, Int lda, Int stride_a, const T* b,
                Int ldb, Int stride_b, T beta, T* c, Int ldc, Int stride_c, Int batch);
void wide_gemm(Transpose ta, Transpose tb, Int m, Int n, Int k, double alpha, const double* a, Int lda, const double* b,
               Int ldb, double beta, double* c, Int ldc);
void wide_gemm(Transpose ta, Transpose tb, Int m, Int n, Int k, std::complex<double> alpha,
               const std::complex<double>* a, Int lda, const std::complex<double>* b, Int ldb,
               std::complex<double> beta, std::complex<double>* c, Int ldc);

}  // namespace kiln::blas
