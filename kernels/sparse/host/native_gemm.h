// Products of dense pieces for native operations: those of the native BLAS, whatever backend is chosen around them.
#pragma once

#include "kernels/backend/backend.h"
#include "kernels/blas/host/blas.h"
#include "kernels/sparse/host/sparse.h"

namespace kiln::sparse {

// c = alpha op(a) op(b) + beta c, by rows.
template <class T>
void native_gemm(bool trans_a, bool trans_b, Int m, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb,
                 T beta, T* c, Int ldc) {
  const backend::Scope scope("native");
  const auto word = [](bool t) { return t ? blas::Transpose::trans : blas::Transpose::no_trans; };
  blas::gemm<T>(blas::Layout::row_major, word(trans_a), word(trans_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace kiln::sparse
