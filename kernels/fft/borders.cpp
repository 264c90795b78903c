#include "kernels/fft/borders.h"

#include <algorithm>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kBorderSamples = 1024;  // of a row at once

struct Borders {
  Kernel& k;
  const FramesConfig& c;
  View x, to;

  // Both ends in pieces of whole samples: piece(rows, first number of the border, numbers).
  void pieces(const std::function<void(const Slice&, const Index&, std::int64_t)>& piece) const {
    k.tiles(c.rows, kTile, [&](Index row, std::int64_t rows) {
      k.tiles(c.pad, kBorderSamples * c.unit,
              [&](Index first, std::int64_t size) { piece(ds(row, rows), first, size); });
    });
  }
  Slice left(const Index& first, std::int64_t size) const { return ds(first, size); }
  Slice right(const Index& first, std::int64_t size) const { return ds(first + (c.pad + c.samples), size); }

  void zeros() const {
    const std::int64_t width = std::min(c.pad, kBorderSamples * c.unit);
    const View zero = k.sbuf({std::min(c.rows, kTile), width}, f32);
    k.memset({.dst = zero, .value = 0.0});
    pieces([&](const Slice& rows, const Index& first, std::int64_t size) {
      for (const Slice& end : {left(first, size), right(first, size)})
        k.dma_copy({.dst = to(rows, end), .src = zero(ds(0, rows.size), ds(0, size))});
    });
  }

  void circular() const {
    pieces([&](const Slice& rows, const Index& first, std::int64_t size) {
      k.dma_copy({.dst = to(rows, left(first, size)), .src = x(rows, ds(first + (c.samples - c.pad), size))});
      k.dma_copy({.dst = to(rows, right(first, size)), .src = x(rows, ds(first, size))});
    });
  }

  // The same samples again and again.
  void replicate() const {
    const auto fill = [&](const Slice& rows, const Slice& end, std::int64_t sample) {
      const View one = k.sbuf({rows.size, 1, c.unit}, f32), many = k.sbuf({rows.size, end.size / c.unit, c.unit}, f32);
      k.dma_copy({.dst = one.flatten_dims(1, 2), .src = x(rows, ds(sample, c.unit))});
      k.tensor_copy({.dst = many, .src = one.broadcast(1, end.size / c.unit), .engine = Engine::vector});
      k.dma_copy({.dst = to(rows, end), .src = many.flatten_dims(1, 2)});
    };
    pieces([&](const Slice& rows, const Index& first, std::int64_t size) {
      fill(rows, left(first, size), 0);
      fill(rows, right(first, size), c.samples - c.unit);
    });
  }

  // Samples from `start` on, in the other order.
  void turn(const Slice& rows, const Slice& end, const Index& start) const {
    const std::int64_t many = end.size / c.unit;
    const View in = k.sbuf({rows.size, end.size}, f32), out = k.sbuf({rows.size, many, c.unit}, f32);
    k.dma_copy({.dst = in, .src = x(rows, ds(start, end.size))});
    const View turned = in.ap({{end.size, rows.size}, {-c.unit, many}, {1, c.unit}}, end.size - c.unit);
    k.tensor_copy({.dst = out, .src = turned, .engine = Engine::vector});
    k.dma_copy({.dst = to(rows, end), .src = out.flatten_dims(1, 2)});
  }

  void reflect() const {
    pieces([&](const Slice& rows, const Index& first, std::int64_t size) {
      turn(rows, left(first, size), (first * -1) + (c.pad + c.unit - size));
      turn(rows, right(first, size), (first * -1) + (c.samples - c.unit - size));
    });
  }
};

}  // namespace

void add_borders(Kernel& k, const FramesConfig& c, const View& x, const View& to) {
  const Borders b{k, c, x, to};
  k.dma_copy({.dst = to(all, ds(c.pad, c.samples)), .src = x});
  if (c.border == Border::zeros) return b.zeros();
  if (c.border == Border::circular) return b.circular();
  c.border == Border::replicate ? b.replicate() : b.reflect();
}

}  // namespace kiln::kernels
