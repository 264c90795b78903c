// spmv: c = alpha a b + beta c with a sparse by rows and b one column. All of b lies on every partition, where gpsimd
// gathers what the elements of 128 rows need, hundreds of slots at a time; the vector engine multiplies and adds up.
// Slots that a row of a bucket does not fill are zeros times the first element of b, which must be finite.
//
//   input  indices [128, buckets + slots]  uint32: the rows of c of all buckets, then the columns of all slots
//   input  values  [128, slots]            float32, zero where a row has no element
//   input  b       [columns, 1]            float32
//   input  c_in    [rows, 1]               unless beta is zero
//   input  scalars [1, 2]                  alpha, beta where one is given
//   output c       [rows, 1]               float32
#pragma once

#include "kernels/sparse/spmm.h"

namespace kiln::kernels {

// Whether it is quicker than spmm for a matrix with so many elements: b fits into SBUF, and loading it to all
// partitions takes less than gathering by DMA.
bool suits_spmv(std::int64_t rows, std::int64_t columns, std::int64_t count, const Arch& arch);

// Of buckets without tiles, with n 1.
isa::Program spmv(const SpmmConfig& config, Target target);

}  // namespace kiln::kernels
