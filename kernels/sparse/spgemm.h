// spgemm: the tiles of a b, both stored by tiles of 128 x 128.
//
//   input  a_blocks [128, tiles of a, 128]  float32: a_blocks(k, e, m) is element (m, k) of tile e
//   input  b_blocks [128, tiles of b, 128]  float32: b_blocks(k, e, n) is element (k, n) of tile e
//   output c_blocks [128, tiles of c, 128]  float32: c_blocks(m, e, n); beyond the matrix it is zero
//
// Tiles must hold zeros beyond their matrix.
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

struct SpgemmConfig {
  TilePattern a, b;
};

// The tiles that the product has.
TilePattern product_pattern(const TilePattern& a, const TilePattern& b);

isa::Program spgemm(const SpgemmConfig& config, Target target);

}  // namespace kiln::kernels
