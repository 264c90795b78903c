#include "kernels/sparse/host/tiled.h"

#include <algorithm>

#include "kiln/num/kernels.h"

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
  Tiled t{std::move(pattern), {}};
  t.blocks.assign(t.pattern.count() * kTile * kTile, 0);
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

Int parts_of(const Bsr<float>& a) {
  Int count = 0;
  for (Int r = 0; r < a.block_rows(); ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e)
      for_parts(a, r, a.column[e], [&](const Part&) { ++count; });
  }
  return count;
}

// The part of a block, whose first element is at `from`, in its place: as the only one of its tile, or beside others.
void set_part(Tiled& t, Int tile, const Part& p, const float* from, Int stride, bool turned) {
  const Int step = t.pattern.count() * kTile, rows = p.row_end - p.row, columns = p.column_end - p.column;
  float* to = t.blocks.data() + tile * kTile;
  if (turned)
    return fast_kernels().transpose(sizeof(float), from, stride, to + p.column % kTile * step + p.row % kTile, step,
                                    static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  for (Int r = 0; r < rows; ++r)
    std::copy_n(from + r * stride, columns, to + (p.row + r) % kTile * step + p.column % kTile);
}

void add_part(Tiled& t, Int tile, const Part& p, const float* from, Int stride) {
  const Int step = t.pattern.count() * kTile, columns = p.column_end - p.column;
  for (Int row = p.row; row < p.row_end; ++row, from += stride) {
    float* to = t.blocks.data() + row % kTile * step + tile * kTile + p.column % kTile;
    for (Int c = 0; c < columns; ++c) to[c] += from[c];
  }
}

void turn(Tiled& t) {
  const Int step = t.pattern.count() * kTile;
  std::vector<float> turned(t.blocks.size());
  for (Int tile = 0; tile < t.pattern.count(); ++tile)
    fast_kernels().transpose(sizeof(float), &t.blocks[tile * kTile], step, &turned[tile * kTile], step, kTile, kTile);
  t.blocks = std::move(turned);
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
  const bool is_shared = parts_of(a) > t.pattern.count();
  for (Int r = 0; r < a.block_rows(); ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      const float* block = a.blocks + e * a.block * a.block;
      for_parts(a, r, a.column[e], [&](const Part& p) {
        const float* from = block + (p.row - r * a.block) * a.block + p.column - a.column[e] * a.block;
        const Int tile = tile_at(t.pattern, p.row, p.column);
        is_shared ? add_part(t, tile, p, from, a.block) : set_part(t, tile, p, from, a.block, turned);
      });
    }
  }
  if (is_shared && turned) turn(t);
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

void blocks_of(const TilePattern& pattern, const float* tiles, const Bsr<float>& a, float* blocks) {
  const Int step = pattern.count() * kTile;
  for (Int r = 0; r < a.block_rows(); ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      for_parts(a, r, a.column[e], [&](const Part& p) {
        const float* from = tiles + tile_at(pattern, p.row, p.column) * kTile + p.column % kTile;
        for (Int row = p.row; row < p.row_end; ++row)
          std::copy_n(from + row % kTile * step, p.column_end - p.column,
                      blocks + (e * a.block + row - r * a.block) * a.block + p.column - a.column[e] * a.block);
      });
    }
  }
}

}  // namespace kiln::sparse
