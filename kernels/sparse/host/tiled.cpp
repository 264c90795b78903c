#include "kernels/sparse/host/tiled.h"

#include <algorithm>

namespace kiln::sparse {
using kernels::kTile;
using kernels::TilePattern;
using kernels::tiles_of;

namespace {

using Tile = std::pair<Int, Int>;

TilePattern pattern_with(Int rows, Int columns, std::vector<Tile> tiles) {
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  TilePattern p{
      .rows = rows, .columns = columns, .row_start = std::vector<Int>(tiles_of(rows, kTile) + 1), .column = {}};
  for (const auto& [row, column] : tiles) {
    ++p.row_start[row + 1];
    p.column.push_back(column);
  }
  for (std::size_t r = 1; r < p.row_start.size(); ++r) p.row_start[r] += p.row_start[r - 1];
  return p;
}

Int tile_at(const TilePattern& p, Int row, Int column) {
  const auto begin = p.column.begin() + p.row_start[row / kTile], end = p.column.begin() + p.row_start[row / kTile + 1];
  return std::lower_bound(begin, end, column / kTile) - p.column.begin();
}

Int place(Int tile, Int tiles, Int row, Int column, bool turned) {
  const Int r = row % kTile, c = column % kTile;
  return turned ? (c * tiles + tile) * kTile + r : (r * tiles + tile) * kTile + c;
}

Tiled with_blocks(TilePattern pattern) {
  Tiled t{std::move(pattern), {}, {}};
  t.blocks.assign(t.pattern.count() * kTile * kTile, 0);
  for (Int r = 0; r < t.pattern.tile_rows(); ++r)
    t.row_of.insert(t.row_of.end(), t.pattern.row_start[r + 1] - t.pattern.row_start[r], r);
  return t;
}

// What of a block lies inside one tile, in elements of the matrix.
struct Part {
  Int row, row_end, column, column_end;
};

template <class Body>
void for_parts(const Bsr<float>& a, Int block_row, Int block_column, const Body& body) {
  const Int row_end = std::min(a.rows, (block_row + 1) * a.block);
  const Int column_end = std::min(a.columns, (block_column + 1) * a.block);
  for (Int r = block_row * a.block; r < row_end; r = (r / kTile + 1) * kTile) {
    for (Int c = block_column * a.block; c < column_end; c = (c / kTile + 1) * kTile)
      body(Part{r, std::min(row_end, (r / kTile + 1) * kTile), c, std::min(column_end, (c / kTile + 1) * kTile)});
  }
}

}  // namespace

Int place_of(const TilePattern& p, Int row, Int column, bool turned) {
  return place(tile_at(p, row, column), p.count(), row, column, turned);
}

TilePattern pattern_of(const Bsr<float>& a) {
  std::vector<Tile> tiles;
  for (Int r = 0; r < a.block_rows(); ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e)
      for_parts(a, r, a.column[e], [&](const Part& p) { tiles.emplace_back(p.row / kTile, p.column / kTile); });
  }
  return pattern_with(a.rows, a.columns, std::move(tiles));
}

TilePattern pattern_of(const Csr<float>& a) {
  std::vector<Tile> tiles;
  for (Int r = 0; r < a.rows; ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      const Tile tile{r / kTile, a.column[e] / kTile};
      if (tiles.empty() || tiles.back() != tile) tiles.push_back(tile);
    }
    if (r % kTile == kTile - 1) {  // rows share tiles: keep the list short
      const auto begin = std::find_if(tiles.begin(), tiles.end(), [&](const Tile& t) { return t.first == r / kTile; });
      std::sort(begin, tiles.end());
      tiles.erase(std::unique(begin, tiles.end()), tiles.end());
    }
  }
  return pattern_with(a.rows, a.columns, std::move(tiles));
}

Tiled tiled(const Bsr<float>& a, bool turned) {
  Tiled t = with_blocks(pattern_of(a));
  const Int count = t.pattern.count();
  for (Int r = 0; r < a.block_rows(); ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      const float* block = a.blocks + e * a.block * a.block;
      for_parts(a, r, a.column[e], [&](const Part& p) {
        const Int tile = tile_at(t.pattern, p.row, p.column);
        for (Int i = p.row; i < p.row_end; ++i) {
          const float* from = block + (i - r * a.block) * a.block - a.column[e] * a.block;
          for (Int j = p.column; j < p.column_end; ++j) t.blocks[place(tile, count, i, j, turned)] += from[j];
        }
      });
    }
  }
  return t;
}

Tiled tiled(const Csr<float>& a, bool turned) {
  Tiled t = with_blocks(pattern_of(a));
  for (Int r = 0; r < a.rows; ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e)
      t.blocks[place_of(t.pattern, r, a.column[e], turned)] += a.values[e];
  }
  return t;
}

}  // namespace kiln::sparse
