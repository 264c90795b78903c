// bsr_sddmm: the tiles of x yᵀ that a pattern has. The time goes with the stored tiles.
//
//   input  x      [rows, n]           float32
//   input  y      [columns, n]        float32
//   output blocks [128, tiles, 128]   float32: blocks(m, e, k) is element (m, k) of tile e, zero beyond the matrix
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

struct BsrSddmmConfig {
  TilePattern pattern;
  std::int64_t n = 0;
};

isa::Program bsr_sddmm(const BsrSddmmConfig& config, Target target);

}  // namespace kiln::kernels
