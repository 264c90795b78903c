#include "kernels/fft/turn_pairs.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr std::int64_t kColumns = 4 * kTile;
}  // namespace

void turn_pairs(Kernel& k, const View& x, const View& y) {
  const std::int64_t rows = x.dim(0);
  k.tiles(x.dim(1) / 2, kColumns, [&](Index first, std::int64_t columns) {
    const View re = chunk_tile(k, columns, rows, f32), im = chunk_tile(k, columns, rows, f32);
    load_turned(k, {re, im}, x, first, columns, 0, rows);
    const auto store = [&](std::int64_t start, std::int64_t tiles, std::int64_t height) {
      const View out = k.sbuf({height, tiles, rows, 2}, f32);
      const auto place = [&](int i, const View& part, Engine engine) {
        const View from = part(ds(0, height), ds(start / kTile, tiles));
        k.tensor_copy({.dst = out(all, all, all, ds(i, 1)).squeeze_dim(3), .src = from, .engine = engine});
      };
      place(0, re, Engine::vector);
      place(1, im, Engine::gpsimd);
      const View to = y(ds(first + start, tiles * height)).reshape_dim(0, {tiles, height}).permute({1, 0, 2});
      k.dma_copy({.dst = to, .src = out.flatten_dims(2, 3)});
    };
    const std::int64_t whole = columns / kTile, rest = columns % kTile;
    if (whole) store(0, whole, kTile);
    if (rest) store(whole * kTile, 1, rest);
  });
}

}  // namespace kiln::kernels
