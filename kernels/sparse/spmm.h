// spmm: c = alpha a b + beta c with a sparse by rows. Elements of a are gathered with their rows of b, a slot at a
// time, by indirect DMAs and the vector engine, while the tensor engine multiplies what lies in blocks.
//
//   input  indices [128, buckets + slots]  int32: the rows of c of all buckets, then the columns of all slots
//   input  values  [128, slots]            float32
//   input  blocks  [128, tiles, 128]       float32: blocks(k, e, m) for column k, row m of a bucket's tile
//   input  b       [columns, n]            float32
//   input  c_in    [rows, n]               unless beta is zero
//   input  scalars [1, 2]                  alpha, beta where one is given
//   output c       [rows, n]               float32
#pragma once

#include "kernels/blas/scalar.h"
#include "kernels/sparse/row_buckets.h"

namespace kiln::kernels {

struct SpmmConfig {
  RowBuckets buckets;
  std::int64_t rows = 0, columns = 0, n = 0;
  Scalar alpha = Scalar::one, beta = Scalar::zero;
};

isa::Program spmm(const SpmmConfig& config, Target target);

}  // namespace kiln::kernels
