// Vectors in HBM as tiles: n elements, `inc` apart, real or complex (two floats, real part first).
#pragma once

#include <functional>

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

struct VectorShape {
  std::int64_t n = 0, inc = 1;  // inc is positive
  bool is_complex = false;
  int planes() const { return is_complex ? 2 : 1; }
  // Floats from the first element to the last.
  std::int64_t storage() const { return n == 0 ? 0 : ((n - 1) * inc + 1) * planes(); }
};

// A piece of a vector on `rows` partitions, `width` elements each.
struct VectorTile {
  isa::Index start;
  std::int64_t rows, width;
};

// Covers 0 … n: one rolled loop over tiles of 128 x `width`, then what remains, in at most two tiles.
void for_vector_tiles(isa::Kernel& k, std::int64_t n, std::int64_t width,
                      const std::function<void(const VectorTile&)>& body);

// The elements of a tile in the storage of a vector; of a complex one, those of one plane.
isa::View tile_of(const isa::View& storage, const VectorShape& shape, const VectorTile& tile, int plane = 0);

// The sum of a column [128, 1] over its partitions, in PSUM [1, 1].
isa::View partition_sum(isa::Kernel& k, const isa::View& column);

// A column [128, 1] as a row [1, 128], and one value on `rows` partitions: by way of HBM, so that infinities stay
// apart.
isa::View as_row(isa::Kernel& k, const isa::View& column);
isa::View on_partitions(isa::Kernel& k, const isa::View& one, std::int64_t rows);

// scalars[0, i] of an input [1, count] on all partitions: [128, count].
isa::View broadcast_row(isa::Kernel& k, const isa::View& row);

}  // namespace kiln::kernels
