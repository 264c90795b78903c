// sddmm: the elements of x yᵀ at the places of a sparse matrix, by gathered rows.
//
//   input  indices [128, buckets + slots]  int32, as in spmm.h; no tiles
//   input  x       [rows, n]               float32
//   input  y       [columns, n]            float32
//   output values  [128, slots]            float32; places that no element has are zero
#pragma once

#include "kernels/sparse/row_buckets.h"

namespace kiln::kernels {

struct SddmmConfig {
  RowBuckets buckets;
  std::int64_t rows = 0, columns = 0, n = 0;
};

isa::Program sddmm(const SddmmConfig& config, Target target);

}  // namespace kiln::kernels
