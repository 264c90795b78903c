#include "kernels/fft/warm_up.h"

#include <algorithm>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr std::int64_t kWidth = 256;  // columns at once
}

WarmUp::WarmUp(Kernel& k, std::int64_t columns) : k_(k), columns_(columns) {
  if (columns == 0) return;
  zeros_ = k.sbuf({kTile, kWidth}, f32);
  k.memset({.dst = zeros_, .value = 0.0, .engine = Engine::vector});
}

void WarmUp::before(const View& sum) const {
  const std::int64_t width = std::min(kWidth, sum.dim(1));
  for (const Piece& some : whole_pieces(columns_, width)) {
    k_.nc_matmul({.dst = sum(all, ds(0, some.size)),
                  .stationary = zeros_(all, ds(0, sum.dim(0))),
                  .moving = zeros_(all, ds(0, some.size))});
  }
  columns_ = 0;
}

}  // namespace kiln::kernels
