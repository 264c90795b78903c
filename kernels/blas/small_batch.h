// Many small products: several of a batch are loaded and stored at once, so that transfers are worth their start. Rows
// of a result lie on the partitions in groups (rows 2 p and 2 p + 1 on partition p when there are two tiles of them),
// so that a partition stores one long run.
#pragma once

#include "kernels/blas/batched_gemm.h"
#include "kernels/blas/epilogue.h"

namespace kiln::kernels {

// Whether the products of a batch are small enough.
bool is_small_batch(const BatchedGemmConfig& config);

// a, b, from and to as in batched_gemm.h.
void multiply_small(isa::Kernel& k, const BatchedGemmConfig& config, const Epilogue& epilogue, const isa::View& a,
                    const isa::View& b, const isa::View& from, const isa::View& to);

}  // namespace kiln::kernels
