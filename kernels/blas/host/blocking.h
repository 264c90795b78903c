// How products are cut where somebody has found out what is best (kiln.tune); elsewhere the kernel chooses.
#pragma once

#include "kernels/blas/gemm.h"
#include "kernels/blas/host/types.h"

namespace kiln::blas {

// For gemm of these sizes by rows, on every target, from now on; all 0: the kernel chooses again.
void set_gemm_blocking(Int m, Int n, Int k, kernels::GemmBlocking blocking);
kernels::GemmBlocking gemm_blocking(Int m, Int n, Int k);

}  // namespace kiln::blas
