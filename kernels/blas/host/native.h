// OpenBLAS by type: one overload per routine and letter.
#pragma once

#include <cblas.h>

#include "kernels/blas/host/types.h"

namespace kiln::blas::native {

inline CBLAS_ORDER c(Layout v) { return static_cast<CBLAS_ORDER>(v); }
inline CBLAS_TRANSPOSE c(Transpose v) { return static_cast<CBLAS_TRANSPOSE>(v); }
inline CBLAS_UPLO c(Uplo v) { return static_cast<CBLAS_UPLO>(v); }
inline CBLAS_DIAG c(Diag v) { return static_cast<CBLAS_DIAG>(v); }
inline CBLAS_SIDE c(Side v) { return static_cast<CBLAS_SIDE>(v); }
inline blasint c(Int v) { return static_cast<blasint>(v); }

// What real and complex routines share but for how a scalar goes in: S(x) is x, or its address.
#define KILN_NATIVE(p, T, S, SYM, HE, RK)                                                                              \
  inline void axpy(Int n, T al, const T* x, Int ix, T* y, Int iy) {                                                    \
    cblas_##p##axpy(c(n), S(al), x, c(ix), y, c(iy));                                                                  \
  }                                                                                                                    \
  inline void copy(Int n, const T* x, Int ix, T* y, Int iy) { cblas_##p##copy(c(n), x, c(ix), y, c(iy)); }             \
  inline void swap(Int n, T* x, Int ix, T* y, Int iy) { cblas_##p##swap(c(n), x, c(ix), y, c(iy)); }                   \
  inline void scal(Int n, T al, T* x, Int ix) { cblas_##p##scal(c(n), S(al), x, c(ix)); }                              \
  inline Int iamax(Int n, const T* x, Int ix) { return static_cast<Int>(cblas_i##p##amax(c(n), x, c(ix))); }           \
  inline void gemv(Layout l, Transpose t, Int m, Int n, T al, const T* a, Int lda, const T* x, Int ix, T be, T* y,     \
                   Int iy) {                                                                                           \
    cblas_##p##gemv(c(l), c(t), c(m), c(n), S(al), a, c(lda), x, c(ix), S(be), y, c(iy));                              \
  }                                                                                                                    \
  inline void gbmv(Layout l, Transpose t, Int m, Int n, Int kl, Int ku, T al, const T* a, Int lda, const T* x, Int ix, \
                   T be, T* y, Int iy) {                                                                               \
    cblas_##p##gbmv(c(l), c(t), c(m), c(n), c(kl), c(ku), S(al), a, c(lda), x, c(ix), S(be), y, c(iy));                \
  }                                                                                                                    \
  inline void hemv(Layout l, Uplo u, Int n, T al, const T* a, Int lda, const T* x, Int ix, T be, T* y, Int iy) {       \
    cblas_##p##HE##mv(c(l), c(u), c(n), S(al), a, c(lda), x, c(ix), S(be), y, c(iy));                                  \
  }                                                                                                                    \
  inline void trmv(Layout l, Uplo u, Transpose t, Diag d, Int n, const T* a, Int lda, T* x, Int ix) {                  \
    cblas_##p##trmv(c(l), c(u), c(t), c(d), c(n), a, c(lda), x, c(ix));                                                \
  }                                                                                                                    \
  inline void tbmv(Layout l, Uplo u, Transpose t, Diag d, Int n, Int k, const T* a, Int lda, T* x, Int ix) {           \
    cblas_##p##tbmv(c(l), c(u), c(t), c(d), c(n), c(k), a, c(lda), x, c(ix));                                          \
  }                                                                                                                    \
  inline void tpmv(Layout l, Uplo u, Transpose t, Diag d, Int n, const T* a, T* x, Int ix) {                           \
    cblas_##p##tpmv(c(l), c(u), c(t), c(d), c(n), a, x, c(ix));                                                        \
  }                                                                                                                    \
  inline void trsv(Layout l, Uplo u, Transpose t, Diag d, Int n, const T* a, Int lda, T* x, Int ix) {                  \
    cblas_##p##trsv(c(l), c(u), c(t), c(d), c(n), a, c(lda), x, c(ix));                                                \
  }                                                                                                                    \
  inline void tbsv(Layout l, Uplo u, Transpose t, Diag d, Int n, Int k, const T* a, Int lda, T* x, Int ix) {           \
    cblas_##p##tbsv(c(l), c(u), c(t), c(d), c(n), c(k), a, c(lda), x, c(ix));                                          \
  }                                                                                                                    \
  inline void tpsv(Layout l, Uplo u, Transpose t, Diag d, Int n, const T* a, T* x, Int ix) {                           \
    cblas_##p##tpsv(c(l), c(u), c(t), c(d), c(n), a, x, c(ix));                                                        \
  }                                                                                                                    \
  inline void gemm(Layout l, Transpose ta, Transpose tb, Int m, Int n, Int k, T al, const T* a, Int lda, const T* b,   \
                   Int ldb, T be, T* cc, Int ldc) {                                                                    \
    cblas_##p##gemm(c(l), c(ta), c(tb), c(m), c(n), c(k), S(al), a, c(lda), b, c(ldb), S(be), cc, c(ldc));             \
  }                                                                                                                    \
  inline void symm(Layout l, Side s, Uplo u, Int m, Int n, T al, const T* a, Int lda, const T* b, Int ldb, T be,       \
                   T* cc, Int ldc) {                                                                                   \
    cblas_##p##symm(c(l), c(s), c(u), c(m), c(n), S(al), a, c(lda), b, c(ldb), S(be), cc, c(ldc));                     \
  }                                                                                                                    \
  inline void hemm(Layout l, Side s, Uplo u, Int m, Int n, T al, const T* a, Int lda, const T* b, Int ldb, T be,       \
                   T* cc, Int ldc) {                                                                                   \
    cblas_##p##SYM##mm(c(l), c(s), c(u), c(m), c(n), S(al), a, c(lda), b, c(ldb), S(be), cc, c(ldc));                  \
  }                                                                                                                    \
  inline void syrk(Layout l, Uplo u, Transpose t, Int n, Int k, T al, const T* a, Int lda, T be, T* cc, Int ldc) {     \
    cblas_##p##syrk(c(l), c(u), c(t), c(n), c(k), S(al), a, c(lda), S(be), cc, c(ldc));                                \
  }                                                                                                                    \
  inline void herk(Layout l, Uplo u, Transpose t, Int n, Int k, real_t<T> al, const T* a, Int lda, real_t<T> be,       \
                   T* cc, Int ldc) {                                                                                   \
    cblas_##p##RK##rk(c(l), c(u), c(t), c(n), c(k), al, a, c(lda), be, cc, c(ldc));                                    \
  }                                                                                                                    \
  inline void syr2k(Layout l, Uplo u, Transpose t, Int n, Int k, T al, const T* a, Int lda, const T* b, Int ldb, T be, \
                    T* cc, Int ldc) {                                                                                  \
    cblas_##p##syr2k(c(l), c(u), c(t), c(n), c(k), S(al), a, c(lda), b, c(ldb), S(be), cc, c(ldc));                    \
  }                                                                                                                    \
  inline void her2k(Layout l, Uplo u, Transpose t, Int n, Int k, T al, const T* a, Int lda, const T* b, Int ldb,       \
                    real_t<T> be, T* cc, Int ldc) {                                                                    \
    cblas_##p##RK##r2k(c(l), c(u), c(t), c(n), c(k), S(al), a, c(lda), b, c(ldb), be, cc, c(ldc));                     \
  }                                                                                                                    \
  inline void trmm(Layout l, Side s, Uplo u, Transpose t, Diag d, Int m, Int n, T al, const T* a, Int lda, T* b,       \
                   Int ldb) {                                                                                          \
    cblas_##p##trmm(c(l), c(s), c(u), c(t), c(d), c(m), c(n), S(al), a, c(lda), b, c(ldb));                            \
  }                                                                                                                    \
  inline void trsm(Layout l, Side s, Uplo u, Transpose t, Diag d, Int m, Int n, T al, const T* a, Int lda, T* b,       \
                   Int ldb) {                                                                                          \
    cblas_##p##trsm(c(l), c(s), c(u), c(t), c(d), c(m), c(n), S(al), a, c(lda), b, c(ldb));                            \
  }

#define KILN_VALUE(x) x
#define KILN_ADDRESS(x) &x
KILN_NATIVE(s, float, KILN_VALUE, sy, sy, sy)
KILN_NATIVE(d, double, KILN_VALUE, sy, sy, sy)
KILN_NATIVE(c, std::complex<float>, KILN_ADDRESS, he, he, he)
KILN_NATIVE(z, std::complex<double>, KILN_ADDRESS, he, he, he)
#undef KILN_NATIVE

// Those whose names or results differ.
#define KILN_NATIVE_REAL(p, T)                                                                                         \
  inline T dot(Int n, const T* x, Int ix, const T* y, Int iy) { return cblas_##p##dot(c(n), x, c(ix), y, c(iy)); }     \
  inline T dotc(Int n, const T* x, Int ix, const T* y, Int iy) { return dot(n, x, ix, y, iy); }                        \
  inline T nrm2(Int n, const T* x, Int ix) { return cblas_##p##nrm2(c(n), x, c(ix)); }                                 \
  inline T asum(Int n, const T* x, Int ix) { return cblas_##p##asum(c(n), x, c(ix)); }                                 \
  inline void rot(Int n, T* x, Int ix, T* y, Int iy, T co, T si) { cblas_##p##rot(c(n), x, c(ix), y, c(iy), co, si); } \
  inline void rotm(Int n, T* x, Int ix, T* y, Int iy, const T* h) { cblas_##p##rotm(c(n), x, c(ix), y, c(iy), h); }    \
  inline void hbmv(Layout l, Uplo u, Int n, Int k, T al, const T* a, Int lda, const T* x, Int ix, T be, T* y,          \
                   Int iy) {                                                                                           \
    cblas_##p##sbmv(c(l), c(u), c(n), c(k), al, a, c(lda), x, c(ix), be, y, c(iy));                                    \
  }                                                                                                                    \
  inline void hpmv(Layout l, Uplo u, Int n, T al, const T* a, const T* x, Int ix, T be, T* y, Int iy) {                \
    cblas_##p##spmv(c(l), c(u), c(n), al, a, x, c(ix), be, y, c(iy));                                                  \
  }                                                                                                                    \
  inline void ger(Layout l, Int m, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a, Int lda) {               \
    cblas_##p##ger(c(l), c(m), c(n), al, x, c(ix), y, c(iy), a, c(lda));                                               \
  }                                                                                                                    \
  inline void gerc(Layout l, Int m, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a, Int lda) {              \
    ger(l, m, n, al, x, ix, y, iy, a, lda);                                                                            \
  }                                                                                                                    \
  inline void her(Layout l, Uplo u, Int n, T al, const T* x, Int ix, T* a, Int lda) {                                  \
    cblas_##p##syr(c(l), c(u), c(n), al, x, c(ix), a, c(lda));                                                         \
  }                                                                                                                    \
  inline void her2(Layout l, Uplo u, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a, Int lda) {             \
    cblas_##p##syr2(c(l), c(u), c(n), al, x, c(ix), y, c(iy), a, c(lda));                                              \
  }                                                                                                                    \
  inline void hpr(Layout l, Uplo u, Int n, T al, const T* x, Int ix, T* a) {                                           \
    cblas_##p##spr(c(l), c(u), c(n), al, x, c(ix), a);                                                                 \
  }                                                                                                                    \
  inline void hpr2(Layout l, Uplo u, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a) {                      \
    cblas_##p##spr2(c(l), c(u), c(n), al, x, c(ix), y, c(iy), a);                                                      \
  }
KILN_NATIVE_REAL(s, float)
KILN_NATIVE_REAL(d, double)
#undef KILN_NATIVE_REAL

#define KILN_NATIVE_COMPLEX(p, r, T)                                                                          \
  inline T dot(Int n, const T* x, Int ix, const T* y, Int iy) {                                               \
    T out;                                                                                                    \
    cblas_##p##dotu_sub(c(n), x, c(ix), y, c(iy), &out);                                                      \
    return out;                                                                                               \
  }                                                                                                           \
  inline T dotc(Int n, const T* x, Int ix, const T* y, Int iy) {                                              \
    T out;                                                                                                    \
    cblas_##p##dotc_sub(c(n), x, c(ix), y, c(iy), &out);                                                      \
    return out;                                                                                               \
  }                                                                                                           \
  inline real_t<T> nrm2(Int n, const T* x, Int ix) { return cblas_##r##p##nrm2(c(n), x, c(ix)); }             \
  /* As two real sums: that of complex vectors is wrong on some machines (OpenBLAS 0.3.21). */                \
  inline real_t<T> asum(Int n, const T* x, Int ix) {                                                          \
    const auto* parts = reinterpret_cast<const real_t<T>*>(x);                                                \
    return cblas_##r##asum(c(n), parts, c(2 * ix)) + cblas_##r##asum(c(n), parts + 1, c(2 * ix));             \
  }                                                                                                           \
  inline void rot(Int n, T* x, Int ix, T* y, Int iy, real_t<T> co, real_t<T> si) {                            \
    cblas_##p##r##rot(c(n), x, c(ix), y, c(iy), co, si);                                                      \
  }                                                                                                           \
  inline void hbmv(Layout l, Uplo u, Int n, Int k, T al, const T* a, Int lda, const T* x, Int ix, T be, T* y, \
                   Int iy) {                                                                                  \
    cblas_##p##hbmv(c(l), c(u), c(n), c(k), &al, a, c(lda), x, c(ix), &be, y, c(iy));                         \
  }                                                                                                           \
  inline void hpmv(Layout l, Uplo u, Int n, T al, const T* a, const T* x, Int ix, T be, T* y, Int iy) {       \
    cblas_##p##hpmv(c(l), c(u), c(n), &al, a, x, c(ix), &be, y, c(iy));                                       \
  }                                                                                                           \
  inline void ger(Layout l, Int m, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a, Int lda) {      \
    cblas_##p##geru(c(l), c(m), c(n), &al, x, c(ix), y, c(iy), a, c(lda));                                    \
  }                                                                                                           \
  inline void gerc(Layout l, Int m, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a, Int lda) {     \
    cblas_##p##gerc(c(l), c(m), c(n), &al, x, c(ix), y, c(iy), a, c(lda));                                    \
  }                                                                                                           \
  inline void her(Layout l, Uplo u, Int n, real_t<T> al, const T* x, Int ix, T* a, Int lda) {                 \
    cblas_##p##her(c(l), c(u), c(n), al, x, c(ix), a, c(lda));                                                \
  }                                                                                                           \
  inline void her2(Layout l, Uplo u, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a, Int lda) {    \
    cblas_##p##her2(c(l), c(u), c(n), &al, x, c(ix), y, c(iy), a, c(lda));                                    \
  }                                                                                                           \
  inline void hpr(Layout l, Uplo u, Int n, real_t<T> al, const T* x, Int ix, T* a) {                          \
    cblas_##p##hpr(c(l), c(u), c(n), al, x, c(ix), a);                                                        \
  }                                                                                                           \
  inline void hpr2(Layout l, Uplo u, Int n, T al, const T* x, Int ix, const T* y, Int iy, T* a) {             \
    cblas_##p##hpr2(c(l), c(u), c(n), &al, x, c(ix), y, c(iy), a);                                            \
  }
KILN_NATIVE_COMPLEX(c, s, std::complex<float>)
KILN_NATIVE_COMPLEX(z, d, std::complex<double>)
#undef KILN_NATIVE_COMPLEX
#undef KILN_VALUE
#undef KILN_ADDRESS

}  // namespace kiln::blas::native
