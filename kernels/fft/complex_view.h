// Views of tensors of complex numbers, whose last dimension is (real, imaginary).
#pragma once

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

inline isa::View component(const isa::View& x, int i) { return x.slice(x.rank() - 1, i, 1).squeeze_dim(x.rank() - 1); }

// A whole tile of [rows, width, 2] with its numbers in the other order.
inline isa::View backwards(const isa::View& tile) {
  const std::int64_t rows = tile.dim(0), width = tile.dim(1);
  return tile.ap({{2 * width, rows}, {-2, width}, {1, 2}}, 2 * (width - 1));
}

}  // namespace kiln::kernels
