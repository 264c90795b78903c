#include "kernels/blas/level1/vector_tiles.h"

namespace kiln::kernels {
using namespace isa;

void for_vector_tiles(Kernel& k, std::int64_t n, std::int64_t width,
                      const std::function<void(const VectorTile&)>& body) {
  const std::int64_t whole = 128 * width, count = n / whole;
  if (count > 0) k.loop(count, [&](Index i) { body({i * whole, 128, width}); });
  const std::int64_t rest = n - count * whole;
  if (rest == 0) return;
  const std::int64_t w = (rest + 127) / 128, rows = rest / w;
  body({Index(count * whole), rows, w});
  if (rows * w < rest) body({Index(count * whole + rows * w), 1, rest - rows * w});
}

View tile_of(const View& storage, const VectorShape& shape, const VectorTile& tile, int plane) {
  const std::int64_t step = shape.inc * shape.planes();
  return storage.ap({{step * tile.width, tile.rows}, {step, tile.width}}, tile.start * step + plane);
}

View partition_sum(Kernel& k, const View& column) {
  const View ones = k.sbuf({column.dim(0), 1}, DType::float32), sum = k.psum({1, column.dim(1)}, DType::float32);
  k.memset({.dst = ones, .value = 1.0});
  k.nc_matmul({.dst = sum, .stationary = ones, .moving = column});
  return sum;
}

View as_row(Kernel& k, const View& column) {
  const std::int64_t rows = column.dim(0);
  const View between = k.hbm({rows, 1}, DType::float32), row = k.sbuf({1, rows}, DType::float32);
  k.dma_copy({.dst = between, .src = column});
  k.dma_copy({.dst = row, .src = between.ap({{rows, 1}, {1, rows}})});
  return row;
}

View on_partitions(Kernel& k, const View& one, std::int64_t rows) {
  const View between = k.hbm({1, 1}, DType::float32), column = k.sbuf({rows, 1}, DType::float32);
  k.dma_copy({.dst = between, .src = one});
  k.dma_copy({.dst = column, .src = between.ap({{0, rows}, {1, 1}})});
  return column;
}

View broadcast_row(Kernel& k, const View& row) {
  const std::int64_t count = row.dim(1);
  const View all_rows = k.sbuf({128, count}, DType::float32);
  k.dma_copy({.dst = all_rows, .src = row.ap({{0, 128}, {1, count}})});
  return all_rows;
}

}  // namespace kiln::kernels
