// double_gemm: c = op(a) op(b) beyond float32, from operands given as sums of two float32 numbers; row-major, any
// sizes.
//
//   input  a0, a1  [M, K], or [K, M] with trans_a: a = a0 + a1, |a| <= 1, a1 at most half an ulp of a0   float32
//   input  b0, b1  [K, N], or [N, K] with trans_b: likewise                                              float32
//   output c0, c1  [M, N]: c = c0 + c1, c1 at most half an ulp of c0                                     float32
//
// Whoever has doubles divides the rows of op(a) and the columns of op(b) by powers of two to get there, and multiplies
// the result by them: exact, and no range is lost. Then, for every element (proved below, u = 2^-48),
//
//   |error| <= 64 u K = K 2^-42   relative to max |row of op(a)| max |column of op(b)|.
//
// How: a is cut into six slices s_0 … s_5 of 8 bits, s_i a multiple of 2^(-8i-7) with |s_i| <= 2^-8i: bfloat16 numbers.
// Products of slices are multiples of 2^(-8o-14), o = i + j their order, and at most 2^-8o, so sums of up to 1024 of
// them are exact in PSUM. Orders 0 to 3 are summed exactly, 256 of K at a time; each such sum is cut into an upper and
// a lower half of 12 bits, whose own sums stay exact for 65536 of K, also when the lower half of an order is added to
// the upper half of the next. Orders 4 and 5 are small enough for float32 sums. What comes out is added up by two-sums;
// what these lose is added to orders 4 and 5 by plain ones, which are as small.
//   cutting       a - Σ s_i: 2.5 u for each operand                             5 u K
//   left out      orders from 6 on                                             5.1 u K
//   orders 4, 5   at most 5.1 * 2^-32 K, in chains of at most 406 additions    8.1 u K
//   two-sums      4 for each 65536 of K, 2 u each                               8 u K (K up to 2^18; 32 u up to 2^20)
#pragma once

#include "kiln/isa/program.h"

namespace kiln::kernels {

struct DoubleGemmConfig {
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  // With 7 of both u is 2^-56 where operands are cut and products left out, which those far below 1 notice.
  int slices = 6, orders = 6;
};

isa::Program double_gemm(const DoubleGemmConfig& config, Target target);

// Many of them in one program: arrays have the batch outside, [batch, …], and 1 there where one matrix serves all.
struct DoubleBatchConfig {
  DoubleGemmConfig each;
  std::int64_t batch = 1;
  bool shares_a = false, shares_b = false;
};
isa::Program double_batched_gemm(const DoubleBatchConfig& config, Target target);

}  // namespace kiln::kernels
