#include "kernels/sparse/bsr_sddmm.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/sparse/attention_parts.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kGroup = 4;          // tiles in a bank of PSUM
constexpr std::int64_t kStays = 64 * 1024;  // bytes of a partition for y

}  // namespace

Program bsr_sddmm(const BsrSddmmConfig& c, Target target) {
  require_pattern("bsr_sddmm", c.pattern);
  const TilePattern& p = c.pattern;
  require_sizes("bsr_sddmm", {c.n, p.count()});
  Kernel k("bsr_sddmm", target);
  const View x = k.input("x", {p.rows, c.n}, f32), y = k.input("y", {p.columns, c.n}, f32);
  const View out = k.output("blocks", {kTile, p.count(), kTile}, f32);
  HeadRows left(k, x, false), right(k, y, tiles_of(c.n, kTile) * p.tile_columns() * kTile * 4 <= kStays);
  for (std::int64_t r = 0; r < p.tile_rows(); ++r) {
    if (p.row_start[r] == p.row_start[r + 1]) continue;
    const View rows = left.turned(r);
    for (std::int64_t e0 = p.row_start[r]; e0 < p.row_start[r + 1]; e0 += kGroup) {
      const std::int64_t some = std::min(kGroup, p.row_start[r + 1] - e0), m = p.height(r);
      const View sums = k.psum({kTile, some, kTile}, f32), tile = k.sbuf({kTile, some, kTile}, f32);
      k.memset({.dst = tile, .value = 0.0, .engine = Engine::gpsimd});
      for (std::int64_t i = 0; i < some; ++i) {
        const std::int64_t width = p.width(p.column[e0 + i]);
        const View sum = sums(ds(0, m), i, ds(0, width));
        add_scores(k, sum, rows, right.turned(p.column[e0 + i]), c.n);
        evict(k, tile(ds(0, m), i, ds(0, width)), sum, static_cast<std::size_t>(i));
      }
      k.dma_copy({.dst = out(all, ds(e0, some)), .src = tile});
    }
  }
  return k.finish();
}

}  // namespace kiln::kernels
