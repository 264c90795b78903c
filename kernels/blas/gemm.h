// gemm: c = alpha op(a) op(b) + beta c, row-major, any sizes, one program.
//
//   input  a        [M, K], or [K, M] with trans_a           dtype
//   input  b        [K, N], or [N, K] with trans_b           dtype
//   input  c_in     [M, N]          unless beta is zero      dtype, or `result` where given
//   input  scalars  [1, 2]: alpha, beta   where one is given float32
//   output c        [M, N]                                   as c_in
//
// Sums are float32 in PSUM, and alpha and beta are applied to them before the one rounding to dtype. With beta zero
// nothing of c is read. An operand whose rows do not lie along K is transposed by the DMA that loads it.
#pragma once

#include <optional>

#include "kernels/blas/scalar.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

// How a product is cut; 0: chosen from the sizes and the target.
struct GemmBlocking {
  int m_tiles = 0;  // tiles of 128 rows in PSUM at once
  int n_tiles = 0;  // tiles of 512 columns; m_tiles * n_tiles is at most 8, the banks of PSUM
  int k_tiles = 0;  // tiles of 128 of K in a load
};

// How a float32 product is made. bfloat16 splits happen on the chip: an operand is the sum of two (three) bfloat16
// numbers, and three (six) of their products are added up.
enum class Precision : std::uint8_t { native, bf16, bf16x3, bf16x6 };

struct GemmConfig {
  DType c_dtype() const { return result.value_or(dtype); }

  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  DType dtype = DType::float32;  // float32 or bfloat16
  Scalar alpha = Scalar::one, beta = Scalar::zero;
  Precision precision = Precision::native;  // others with float32 only
  std::optional<DType> result = {};         // of c, where it is not that of a and b: float32 or bfloat16
  GemmBlocking blocking = {};
};

isa::Program gemm(const GemmConfig& config, Target target);

}  // namespace kiln::kernels
