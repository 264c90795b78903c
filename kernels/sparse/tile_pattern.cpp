#include "kernels/sparse/tile_pattern.h"

#include <fmt/format.h>

#include "kernels/sparse/sparse_rules.h"

namespace kiln::kernels {

TilePattern TilePattern::transposed(std::vector<std::int64_t>& order) const {
  TilePattern t{.rows = columns, .columns = rows, .row_start = {0}, .column = {}};
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> by_column(tile_columns());
  for (std::int64_t r = 0; r < tile_rows(); ++r) {
    for (std::int64_t e = row_start[r]; e < row_start[r + 1]; ++e) by_column[column[e]].emplace_back(r, e);
  }
  order.clear();
  for (const auto& tiles : by_column) {
    for (const auto& [r, e] : tiles) {
      t.column.push_back(r);
      order.push_back(e);
    }
    t.row_start.push_back(t.count());
  }
  return t;
}

std::string key_of(const std::vector<std::int64_t>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t));
}

std::string key_of(const TilePattern& p) {
  return fmt::format("{}x{} ", p.rows, p.columns) + key_of(p.row_start) + key_of(p.column);
}

void require_pattern(const char* what, const TilePattern& p) {
  using namespace sparse_rules;
  const auto require = [&](bool holds, const char* found) {
    if (!holds) raise(kTable, kPattern, {.found = fmt::format("{}: {}", what, found)});
  };
  require(p.rows > 0 && p.columns > 0, "a matrix without elements");
  require(static_cast<std::int64_t>(p.row_start.size()) == p.tile_rows() + 1, "row_start of another length");
  require(p.row_start.front() == 0 && p.row_start.back() == p.count(), "row_start that does not cover the tiles");
  for (std::int64_t r = 0; r < p.tile_rows(); ++r) {
    require(p.row_start[r] <= p.row_start[r + 1], "row_start that descends");
    for (std::int64_t e = p.row_start[r]; e < p.row_start[r + 1]; ++e) {
      require(p.column[e] >= 0 && p.column[e] < p.tile_columns(), "a tile outside of the matrix");
      require(e == p.row_start[r] || p.column[e - 1] < p.column[e], "columns that do not ascend");
    }
  }
}

}  // namespace kiln::kernels
