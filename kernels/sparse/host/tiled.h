// Sparse matrices cut into the tiles that kernels take.
#pragma once

#include "kernels/sparse/host/sparse.h"
#include "kernels/sparse/tile_pattern.h"

namespace kiln::sparse {

// [128, tiles, 128]: with `turned`, (k, e, m) is element (m, k) of tile e, else (m, e, k). Zero where there is none.
struct Tiled {
  kernels::TilePattern pattern;
  std::vector<float> blocks;
};

kernels::TilePattern pattern_of(const Bsr<float>& a);
kernels::TilePattern pattern_of(const Csr<float>& a);
Tiled tiled(const Bsr<float>& a, bool turned);
Tiled tiled(const Csr<float>& a, bool turned);

// The other way: blocks [count, block, block] of a out of tiles (m, e, k). What is beyond the matrix stays as it is.
void blocks_of(const kernels::TilePattern& pattern, const float* tiles, const Bsr<float>& a, float* blocks);

// The place of element (row, column) in the blocks of a pattern that has it.
Int place_of(const kernels::TilePattern& pattern, Int row, Int column, bool turned);

}  // namespace kiln::sparse
