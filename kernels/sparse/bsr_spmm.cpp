#include "kernels/sparse/bsr_spmm.h"

#include <set>

#include "kernels/blas/config_rules.h"
#include "kernels/sparse/resident_rows.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kLoadTiles = 8;  // of a row, in one DMA

// A row of tiles times b: the sums of [height, n] in PSUM.
View row_sum(Kernel& k, const TilePattern& p, const View& blocks, ResidentRows& b, std::int64_t row, std::int64_t n) {
  const std::int64_t height = p.height(row);
  const View sum = k.psum({kTile, kWide}, DType::float32)(ds(0, height), ds(0, n));
  const std::int64_t first = p.row_start[row], last = p.row_start[row + 1];
  for (std::int64_t e0 = first; e0 < last; e0 += kLoadTiles) {
    const std::int64_t count = std::min(kLoadTiles, last - e0);
    const View chunk = k.sbuf({kTile, count, kTile}, blocks.dtype());
    k.dma_copy({.dst = chunk, .src = blocks(all, ds(e0, count))});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t depth = p.width(p.column[e0 + i]);
      k.nc_matmul(
          {.dst = sum, .stationary = chunk(ds(0, depth), i, ds(0, height)), .moving = b.tile(p.column[e0 + i])});
    }
  }
  return sum;
}

}  // namespace

Program bsr_spmm(const BsrSpmmConfig& c, Target target) {
  require_pattern("bsr_spmm", c.pattern);
  require_sizes("bsr_spmm", {c.n});
  require_float("bsr_spmm", c.dtype);
  const TilePattern& p = c.pattern;
  Kernel k("bsr_spmm", target);
  View blocks;
  if (p.count() > 0) blocks = k.input("blocks", {kTile, p.count(), kTile}, c.dtype);
  const View b = k.input("b", {p.columns, c.n}, c.dtype), out = k.output("c", {p.rows, c.n}, c.dtype);
  const auto used = static_cast<std::int64_t>(std::set(p.column.begin(), p.column.end()).size());
  k.tiles(c.n, kWide, [&](Index n0, std::int64_t n) {
    ResidentRows rows(k, b, n0, n, used);
    for (std::int64_t r = 0; r < p.tile_rows(); ++r) {
      const View tile = k.sbuf({p.height(r), n}, c.dtype);
      if (p.row_start[r] == p.row_start[r + 1])
        k.memset({.dst = tile, .value = 0.0});
      else
        evict(k, tile, row_sum(k, p, blocks, rows, r, n), static_cast<std::size_t>(r));
      k.dma_copy({.dst = out(ds(r * kTile, p.height(r)), ds(n0, n)), .src = tile});
    }
  });
  return k.finish();
}

}  // namespace kiln::kernels
