// bsr_spmm: c = a b with a stored by tiles of 128 x 128. The time goes with the stored tiles.
//
//   input  blocks [128, tiles, 128]  blocks(k, e, m) is element (m, k) of tile e: as the tensor engine wants it
//   input  b      [columns, n]       dtype
//   output c      [rows, n]          dtype
//
// What a tile holds beyond the matrix is not read.
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

struct BsrSpmmConfig {
  TilePattern pattern;
  std::int64_t n = 0;
  DType dtype = DType::float32;  // float32 or bfloat16
};

isa::Program bsr_spmm(const BsrSpmmConfig& config, Target target);

}  // namespace kiln::kernels
