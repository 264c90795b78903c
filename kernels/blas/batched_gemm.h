// batched_gemm: many products in one program, by stride or by list.
//
// By stride: all of one shape, each operand one array with the batch outside:
//   input  a        [batch, M, K], or [batch, K, M] with trans_a; batch 1 with shares_a       dtype
//   input  b        [batch, K, N], or [batch, N, K] with trans_b; batch 1 with shares_b       dtype
//   input  c_in     [batch, M, N]   unless beta is zero                                      dtype
//   input  scalars  [1, 2]: alpha, beta   where one is given                                 float32
//   output c        [batch, M, N]                                                            dtype
//
// By list: any shapes and transposes, product i with the inputs a_i, b_i, c_in_i and the output c_i of gemm, and one
// `scalars`; alpha and beta are of one kind for all.
#pragma once

#include <span>

#include "kernels/blas/gemm.h"

namespace kiln::kernels {

struct BatchedGemmConfig {
  GemmConfig each;
  std::int64_t batch = 1;
  bool shares_a = false, shares_b = false;  // one matrix for all products
};

isa::Program batched_gemm(const BatchedGemmConfig& config, Target target);
isa::Program gemm_list(std::span<const GemmConfig> products, Target target);

}  // namespace kiln::kernels
