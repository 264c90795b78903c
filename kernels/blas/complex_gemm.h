// complex_gemm: c = alpha op(a) op(b) + beta c for complex matrices, row-major, any sizes. An element is two
// neighbours in memory, real and imaginary part, as in complex64 arrays.
//
//   input  a        [M, 2 K], or [K, 2 M] with op transpose or conjugate   float32
//   input  b        [K, 2 N], or [N, 2 K] likewise                         float32
//   input  c_in     [M, 2 N]        unless beta is zero                    float32
//   input  scalars  [1, 4]: alpha, beta   where one is given               float32
//   output c        [M, 2 N]                                               float32
//
// Four real products, or three (Karatsuba): a quarter less work, and an error bound relative to (|Re| + |Im|)² rather
// than to each part.
#pragma once

#include "kernels/blas/scalar.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

enum class Op : std::uint8_t { none, transpose, conjugate };  // conjugate: transposed too

struct ComplexGemmConfig {
  std::int64_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  Scalar alpha = Scalar::one, beta = Scalar::zero;
  int products = 4;  // or 3
};

isa::Program complex_gemm(const ComplexGemmConfig& config, Target target);

// Many of them in one program: arrays have the batch outside, [batch, …], and 1 there where one matrix serves all.
struct ComplexBatchConfig {
  ComplexGemmConfig each;
  std::int64_t batch = 1;
  bool shares_a = false, shares_b = false;
};
isa::Program complex_batched_gemm(const ComplexBatchConfig& config, Target target);

}  // namespace kiln::kernels
