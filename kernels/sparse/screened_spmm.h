// screened_spmm: c = (a where row_bound(i) column_bound(j) > limit, else 0) b. The mask is exact: products of bounds
// are rounded to float32 and compared. Tiles outside of the pattern, of which no element can pass, are not read.
//
//   input  a            [rows, columns]  float32
//   input  row_bound    [rows]           float32
//   input  column_bound [columns]        float32
//   input  limit        [1, 1]           float32
//   input  b            [columns, n]     float32
//   output c            [rows, n]        float32
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

struct ScreenedSpmmConfig {
  TilePattern pattern;
  std::int64_t n = 0;
  bool trans_a = false;  // a is [columns, rows] in memory; the pattern and the bounds are those of aᵀ then
};

isa::Program screened_spmm(const ScreenedSpmmConfig& config, Target target);

}  // namespace kiln::kernels
