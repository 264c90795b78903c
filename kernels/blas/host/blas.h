// kiln::blas: the Basic Linear Algebra Subprograms, shaped like CBLAS, computed by the backend of the moment
// (kernels/backend/backend.h). T is float, double, std::complex<float> or std::complex<double>; the names of CBLAS
// stand in names.h. Arguments that are wrong throw Error (blas.R*) before anything is written; results are written
// when all of them are there. With beta 0, what it would scale is not read; with alpha 0, neither is the product.
//
// Kernels compute in float32. For double, backends other than native have those routines that precision.h names.
#pragma once

#include "kernels/blas/host/types.h"

namespace kiln::blas {

// Level 1. Elements are `inc` apart; a negative one counts from the end, as in CBLAS.
template <class T>
void axpy(Int n, T alpha, const T* x, Int incx, T* y, Int incy);
template <class T>
void scal(Int n, T alpha, T* x, Int incx);
template <class T>
void copy(Int n, const T* x, Int incx, T* y, Int incy);
template <class T>
void swap(Int n, T* x, Int incx, T* y, Int incy);
template <class T>
T dot(Int n, const T* x, Int incx, const T* y, Int incy);  // dotu of complex vectors
template <class T>
T dotc(Int n, const T* x, Int incx, const T* y, Int incy);  // conj(x) y
template <class T>
real_t<T> nrm2(Int n, const T* x, Int incx);
template <class T>
real_t<T> asum(Int n, const T* x, Int incx);
// The first largest |x| (|re| + |im|), from 0; NaN is larger than all.
template <class T>
Int iamax(Int n, const T* x, Int incx);
template <class T>
void rot(Int n, T* x, Int incx, T* y, Int incy, real_t<T> c, real_t<T> s);
template <class T>
void rotm(Int n, T* x, Int incx, T* y, Int incy, const T* param);
template <class T>
void rotg(T* a, T* b, real_t<T>* c, T* s);
template <class T>
void rotmg(T* d1, T* d2, T* x1, T y1, T* param);
double dsdot(Int n, const float* x, Int incx, const float* y, Int incy);
float sdsdot(Int n, float alpha, const float* x, Int incx, const float* y, Int incy);

// Level 2.
template <class T>
void gemv(Layout, Transpose, Int m, Int n, T alpha, const T* a, Int lda, const T* x, Int incx, T beta, T* y, Int incy);
template <class T>
void gbmv(Layout, Transpose, Int m, Int n, Int kl, Int ku, T alpha, const T* a, Int lda, const T* x, Int incx, T beta,
          T* y, Int incy);
// symv of real, hemv of complex matrices; likewise the others of two names.
template <class T>
void hemv(Layout, Uplo, Int n, T alpha, const T* a, Int lda, const T* x, Int incx, T beta, T* y, Int incy);
template <class T>
void hbmv(Layout, Uplo, Int n, Int k, T alpha, const T* a, Int lda, const T* x, Int incx, T beta, T* y, Int incy);
template <class T>
void hpmv(Layout, Uplo, Int n, T alpha, const T* ap, const T* x, Int incx, T beta, T* y, Int incy);
template <class T>
void trmv(Layout, Uplo, Transpose, Diag, Int n, const T* a, Int lda, T* x, Int incx);
template <class T>
void tbmv(Layout, Uplo, Transpose, Diag, Int n, Int k, const T* a, Int lda, T* x, Int incx);
template <class T>
void tpmv(Layout, Uplo, Transpose, Diag, Int n, const T* ap, T* x, Int incx);
template <class T>
void trsv(Layout, Uplo, Transpose, Diag, Int n, const T* a, Int lda, T* x, Int incx);
template <class T>
void tbsv(Layout, Uplo, Transpose, Diag, Int n, Int k, const T* a, Int lda, T* x, Int incx);
template <class T>
void tpsv(Layout, Uplo, Transpose, Diag, Int n, const T* ap, T* x, Int incx);
template <class T>  // geru of complex matrices
void ger(Layout, Int m, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* a, Int lda);
template <class T>
void gerc(Layout, Int m, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* a, Int lda);
template <class T>
void her(Layout, Uplo, Int n, real_t<T> alpha, const T* x, Int incx, T* a, Int lda);
template <class T>
void her2(Layout, Uplo, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* a, Int lda);
template <class T>
void hpr(Layout, Uplo, Int n, real_t<T> alpha, const T* x, Int incx, T* ap);
template <class T>
void hpr2(Layout, Uplo, Int n, T alpha, const T* x, Int incx, const T* y, Int incy, T* ap);

// Level 3.
template <class T>
void gemm(Layout, Transpose, Transpose, Int m, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta,
          T* c, Int ldc);
// The same of float matrices with products as the kernel makes them in that precision; native computes in float.
// Relative to |op(a)| |op(b)|, the error is at most product_error + k 2^-24, beside the roundings of alpha and beta.
enum class Precision : int { fp32, bf16, bf16x3, bf16x6 };
void gemm(Precision, Layout, Transpose, Transpose, Int m, Int n, Int k, float alpha, const float* a, Int lda,
          const float* b, Int ldb, float beta, float* c, Int ldc);
double product_error(Precision precision);
// Products `stride` elements apart, as one program; a stride of 0 shares the matrix.
template <class T>
void gemm_strided_batched(Layout, Transpose, Transpose, Int m, Int n, Int k, T alpha, const T* a, Int lda, Int stride_a,
                          const T* b, Int ldb, Int stride_b, T beta, T* c, Int ldc, Int stride_c, Int batch);
// Products by pointers, as one program.
template <class T>
void gemm_batched(Layout, Transpose, Transpose, Int m, Int n, Int k, T alpha, const T* const* a, Int lda,
                  const T* const* b, Int ldb, T beta, T* const* c, Int ldc, Int batch);
template <class T>
void symm(Layout, Side, Uplo, Int m, Int n, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta, T* c, Int ldc);
template <class T>
void hemm(Layout, Side, Uplo, Int m, Int n, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta, T* c, Int ldc);
template <class T>
void syrk(Layout, Uplo, Transpose, Int n, Int k, T alpha, const T* a, Int lda, T beta, T* c, Int ldc);
template <class T>
void herk(Layout, Uplo, Transpose, Int n, Int k, real_t<T> alpha, const T* a, Int lda, real_t<T> beta, T* c, Int ldc);
template <class T>
void syr2k(Layout, Uplo, Transpose, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta, T* c,
           Int ldc);
template <class T>
void her2k(Layout, Uplo, Transpose, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb, real_t<T> beta,
           T* c, Int ldc);
template <class T>
void trmm(Layout, Side, Uplo, Transpose, Diag, Int m, Int n, T alpha, const T* a, Int lda, T* b, Int ldb);
template <class T>
void trsm(Layout, Side, Uplo, Transpose, Diag, Int m, Int n, T alpha, const T* a, Int lda, T* b, Int ldb);
// One triangle of a general product (gemmtr).
template <class T>
void gemmt(Layout, Uplo, Transpose, Transpose, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta,
           T* c, Int ldc);
// The triangle `uplo` of a becomes its Cholesky factor; the other one stays. Returns whether a is positive definite;
// if not, a stays as it was.
template <class T>
bool potrf(Layout, Uplo, Int n, T* a, Int lda);

}  // namespace kiln::blas
