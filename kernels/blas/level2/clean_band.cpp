#include "kernels/blas/level2/clean_band.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kRows = 128, kWidth = 2048;

void fill_zero(Kernel& k, const View& rows) {
  k.tiles(rows.dim(0), kRows, [&](Index i, std::int64_t m) {
    k.tiles(rows.dim(1), kWidth, [&](Index j, std::int64_t n) {
      const View zero = k.sbuf({m, n}, DType::float32);
      k.memset({.dst = zero, .value = 0.0});
      k.dma_copy({.dst = rows(ds(i, m), ds(j, n)), .src = zero});
    });
  });
}

// Rows from … to of the band, without what lies left of column 0 or right of the last one.
void copy_masked(Kernel& k, const View& to, const View& a, const BandConfig& c, std::int64_t first, std::int64_t last) {
  const std::int64_t width = c.below + c.above + 1;
  const int planes = c.matrix.x.planes();
  for (std::int64_t i = first; i < last; i += kRows) {
    const std::int64_t m = std::min(kRows, last - i);
    for (std::int64_t t = 0; t < width; t += kWidth / 2) {
      const std::int64_t n = std::min(kWidth / 2, width - t);
      const View tile = k.sbuf({m, n, planes}, DType::float32);
      const View kept = k.sbuf({m, n, planes}, DType::float32), kept_too = k.sbuf({m, n, planes}, DType::float32);
      const auto part = [&](const View& rows, std::int64_t at) {
        return rows(ds(at, m), ds(t * planes, n * planes)).reshape_dim(1, {n, planes});
      };
      k.dma_copy({.dst = tile, .src = part(a, i)});
      // The column is i + p - below + t + f; it is at least 0 and at most columns - 1.
      const std::int64_t at = i - c.below + t;
      k.affine_select({.dst = kept,
                       .pattern = {{1, n}, {0, planes}},
                       .channel_multiplier = 1,
                       .on_true_tile = tile,
                       .on_false_value = 0.0,
                       .cmp_op = AluOp::greater_equal,
                       .offset = at});
      k.affine_select({.dst = kept_too,
                       .pattern = {{-1, n}, {0, planes}},
                       .channel_multiplier = -1,
                       .on_true_tile = kept,
                       .on_false_value = 0.0,
                       .cmp_op = AluOp::greater_equal,
                       .offset = c.matrix.columns - 1 - at});
      k.dma_copy({.dst = part(to, c.above + i), .src = kept_too});
    }
  }
}

}  // namespace

View clean_band(Kernel& k, const View& a, const BandConfig& c) {
  const std::int64_t width = (c.below + c.above + 1) * c.matrix.x.planes(), rows = c.matrix.rows;
  const std::int64_t total = c.above + std::max(rows, c.matrix.columns + c.below);
  const View clean = k.hbm({total, width}, DType::float32);
  if (c.above > 0) fill_zero(k, clean(ds(0, c.above)));
  const std::int64_t head = std::min(c.below, rows), tail = std::clamp(c.matrix.columns - c.above, head, rows);
  copy_masked(k, clean, a, c, 0, head);
  if (head < tail) k.dma_copy({.dst = clean(ds(c.above + head, tail - head)), .src = a(ds(head, tail - head))});
  copy_masked(k, clean, a, c, tail, rows);
  if (c.above + rows < total) fill_zero(k, clean(ds(c.above + rows, total - c.above - rows)));
  return clean;
}

View padded_vector(Kernel& k, const View& x, const VectorShape& shape, std::int64_t before, std::int64_t length) {
  const int planes = shape.planes();
  const View padded = k.hbm({length, planes}, DType::float32);
  if (before > 0) fill_zero(k, padded(ds(0, before)));
  const std::int64_t step = shape.inc * planes;
  k.dma_copy({.dst = padded(ds(before, shape.n)), .src = x.ap({{step, shape.n}, {1, planes}})});
  if (before + shape.n < length) fill_zero(k, padded(ds(before + shape.n, length - before - shape.n)));
  return padded;
}

}  // namespace kiln::kernels
