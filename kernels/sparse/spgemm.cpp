#include "kernels/sparse/spgemm.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/sparse/sparse_rules.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kStayingTiles = 96;  // of an operand, in SBUF as long as it is needed
constexpr std::int64_t kGroup = 4;          // tiles of the result in a bank

// Tiles of an operand, loaded once or for each use.
class Tiles {
 public:
  Tiles(Kernel& k, const View& blocks) : k_(k), blocks_(blocks), stays_(blocks.dim(1) <= kStayingTiles) {}
  View tile(std::int64_t e) {
    if (const auto found = tiles_.find(e); found != tiles_.end()) return found->second;
    const View tile = k_.sbuf({kTile, kTile}, f32);
    k_.dma_copy({.dst = tile, .src = blocks_.select(1, e)});
    if (stays_) tiles_[e] = tile;
    return tile;
  }

 private:
  Kernel& k_;
  View blocks_;
  bool stays_;
  std::map<std::int64_t, View> tiles_;
};

// Pairs of tiles, one of a and one of b, whose products make up each tile of a row of the result.
using Pairs = std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>>;
Pairs pairs_of(const SpgemmConfig& c, std::int64_t row) {
  Pairs pairs;
  for (std::int64_t e = c.a.row_start[row]; e < c.a.row_start[row + 1]; ++e) {
    const std::int64_t inner = c.a.column[e];
    for (std::int64_t f = c.b.row_start[inner]; f < c.b.row_start[inner + 1]; ++f)
      pairs[c.b.column[f]].emplace_back(e, f);
  }
  return pairs;
}

}  // namespace

TilePattern product_pattern(const TilePattern& a, const TilePattern& b) {
  TilePattern c{.rows = a.rows, .columns = b.columns, .row_start = {0}, .column = {}};
  for (std::int64_t r = 0; r < a.tile_rows(); ++r) {
    for (const auto& [column, pairs] : pairs_of({a, b}, r)) c.column.push_back(column);
    c.row_start.push_back(c.count());
  }
  return c;
}

Program spgemm(const SpgemmConfig& c, Target target) {
  require_pattern("spgemm", c.a);
  require_pattern("spgemm", c.b);
  if (c.a.columns != c.b.rows)
    raise(sparse_rules::kTable, sparse_rules::kSize,
          {.found = fmt::format("spgemm of {} columns with {} rows", c.a.columns, c.b.rows)});
  const TilePattern result = product_pattern(c.a, c.b);
  require_sizes("spgemm", {result.count()});
  Kernel k("spgemm", target);
  const View a = k.input("a_blocks", {kTile, c.a.count(), kTile}, f32);
  Tiles b(k, k.input("b_blocks", {kTile, c.b.count(), kTile}, f32));
  const View out = k.output("c_blocks", {kTile, result.count(), kTile}, f32);
  std::int64_t done = 0;
  for (std::int64_t r = 0; r < c.a.tile_rows(); ++r) {
    const Pairs pairs = pairs_of(c, r);
    if (pairs.empty()) continue;
    const std::int64_t first = c.a.row_start[r], count = c.a.row_start[r + 1] - first;
    Tiles left(k, a(all, ds(first, count)));
    for (auto at = pairs.begin(); at != pairs.end();) {
      const std::int64_t some = std::min(kGroup, static_cast<std::int64_t>(std::distance(at, pairs.end())));
      const View sums = k.psum({kTile, some, kTile}, f32), tile = k.sbuf({kTile, some, kTile}, f32);
      for (std::int64_t i = 0; i < some; ++i, ++at) {
        for (const auto& [e, f] : at->second)
          k.nc_matmul({.dst = sums(all, i), .stationary = left.tile(e - first), .moving = b.tile(f)});
      }
      evict(k, tile, sums, static_cast<std::size_t>(done));
      k.dma_copy({.dst = out(all, ds(done, some)), .src = tile});
      done += some;
    }
  }
  return k.finish();
}

}  // namespace kiln::kernels
