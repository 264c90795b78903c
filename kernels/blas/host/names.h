// The routines by their names in BLAS: kiln::blas::sgemm(...), kiln::blas::zherk(...).
#pragma once

#include "kernels/blas/host/blas.h"

namespace kiln::blas {

// name: of the routine without its letter; routine: the template in blas.h.
#define KILN_REAL(name, routine)                   \
  inline constexpr auto s##name = &routine<float>; \
  inline constexpr auto d##name = &routine<double>;
#define KILN_COMPLEX(name, routine)                              \
  inline constexpr auto c##name = &routine<std::complex<float>>; \
  inline constexpr auto z##name = &routine<std::complex<double>>;
#define KILN_EVERY(name) KILN_REAL(name, name) KILN_COMPLEX(name, name)

KILN_EVERY(axpy)
KILN_EVERY(scal)
KILN_EVERY(copy)
KILN_EVERY(swap)
KILN_REAL(dot, dot)
KILN_COMPLEX(dotu, dot)
KILN_COMPLEX(dotc, dotc)
KILN_REAL(nrm2, nrm2)
KILN_REAL(asum, asum)
KILN_EVERY(rotg)
KILN_REAL(rot, rot)
KILN_REAL(rotm, rotm)
KILN_REAL(rotmg, rotmg)
inline constexpr auto scnrm2 = &nrm2<std::complex<float>>;
inline constexpr auto dznrm2 = &nrm2<std::complex<double>>;
inline constexpr auto scasum = &asum<std::complex<float>>;
inline constexpr auto dzasum = &asum<std::complex<double>>;
inline constexpr auto csrot = &rot<std::complex<float>>;
inline constexpr auto zdrot = &rot<std::complex<double>>;
inline constexpr auto isamax = &iamax<float>;
inline constexpr auto idamax = &iamax<double>;
inline constexpr auto icamax = &iamax<std::complex<float>>;
inline constexpr auto izamax = &iamax<std::complex<double>>;

KILN_EVERY(gemv)
KILN_EVERY(gbmv)
KILN_EVERY(trmv)
KILN_EVERY(tbmv)
KILN_EVERY(tpmv)
KILN_EVERY(trsv)
KILN_EVERY(tbsv)
KILN_EVERY(tpsv)
KILN_REAL(symv, hemv)
KILN_REAL(sbmv, hbmv)
KILN_REAL(spmv, hpmv)
KILN_REAL(ger, ger)
KILN_REAL(syr, her)
KILN_REAL(syr2, her2)
KILN_REAL(spr, hpr)
KILN_REAL(spr2, hpr2)
KILN_COMPLEX(hemv, hemv)
KILN_COMPLEX(hbmv, hbmv)
KILN_COMPLEX(hpmv, hpmv)
KILN_COMPLEX(geru, ger)
KILN_COMPLEX(gerc, gerc)
KILN_COMPLEX(her, her)
KILN_COMPLEX(her2, her2)
KILN_COMPLEX(hpr, hpr)
KILN_COMPLEX(hpr2, hpr2)

KILN_EVERY(gemm_strided_batched)
KILN_EVERY(gemm_batched)
KILN_EVERY(symm)
KILN_EVERY(syrk)
KILN_EVERY(syr2k)
KILN_EVERY(trmm)
KILN_EVERY(trsm)
KILN_EVERY(gemmt)
KILN_COMPLEX(hemm, hemm)
KILN_COMPLEX(herk, herk)
KILN_COMPLEX(her2k, her2k)
KILN_REAL(potrf, potrf)
// gemm has a sibling that takes a precision, so its type is said.
template <class T>
using Gemm = void (*)(Layout, Transpose, Transpose, Int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);
inline constexpr Gemm<float> sgemm = &gemm<float>;
inline constexpr Gemm<double> dgemm = &gemm<double>;
inline constexpr Gemm<std::complex<float>> cgemm = &gemm<std::complex<float>>;
inline constexpr Gemm<std::complex<double>> zgemm = &gemm<std::complex<double>>;

#undef KILN_EVERY
#undef KILN_COMPLEX
#undef KILN_REAL

}  // namespace kiln::blas
