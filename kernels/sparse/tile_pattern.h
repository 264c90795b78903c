// TilePattern: which tiles of 128 x 128 of a matrix are there. Programs are built for a pattern; what the tiles hold is
// an input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/blas/product_block.h"

namespace kiln::kernels {

struct TilePattern {
  std::int64_t rows = 0, columns = 0;   // of the matrix, in elements
  std::vector<std::int64_t> row_start;  // where the tiles of each row of tiles begin, and the end
  std::vector<std::int64_t> column;     // of each tile, in tiles; ascending in each row

  std::int64_t tile_rows() const { return tiles_of(rows, kTile); }
  std::int64_t tile_columns() const { return tiles_of(columns, kTile); }
  std::int64_t count() const { return static_cast<std::int64_t>(column.size()); }
  // Elements of a tile that lie inside the matrix.
  std::int64_t height(std::int64_t row) const { return std::min(kTile, rows - row * kTile); }
  std::int64_t width(std::int64_t column) const { return std::min(kTile, columns - column * kTile); }
  // The tiles of the transposed matrix; `order` receives for each of them which one of ours it is.
  TilePattern transposed(std::vector<std::int64_t>& order) const;
};

// What tells apart programs of different patterns: sizes and numbers as they are, not as a text.
std::string key_of(const std::vector<std::int64_t>& numbers);
std::string key_of(const TilePattern& pattern);

// Throws Error (sparse.R*) unless the pattern is one.
void require_pattern(const char* what, const TilePattern& pattern);

}  // namespace kiln::kernels
