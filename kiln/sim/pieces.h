// Pieces: a tile as runs of bytes, for what travels between cores.
#pragma once

#include "kiln/isa/semantics/tile.h"

namespace kiln::sim {

// Calls fn(address, byte position in row-major order, bytes) for runs of elements without gaps between them.
template <class Fn>
void for_pieces(const isa::Tile& t, Fn&& fn) {
  const std::int64_t size = t.element_bytes();
  if (t.is_dense()) return fn(t.data, std::int64_t{0}, t.count() * size);
  for (std::int64_t row = 0; row < t.rows; ++row) {
    isa::for_runs(t, row, 0, t.free_size,
                  [&](std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t position) {
                    const std::int64_t to = (row * t.free_size + position) * size;
                    if (stride == 1) return fn(at, to, n * size);
                    for (std::int64_t i = 0; i < n; ++i) fn(at + i * stride * size, to + i * size, size);
                  });
  }
}

}  // namespace kiln::sim
