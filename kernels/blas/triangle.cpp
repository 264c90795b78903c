#include "kernels/blas/triangle.h"

#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

void keep_triangle(Kernel& k, const View& to, const View& tile, Uplo uplo, std::int64_t down, bool strict) {
  // Row minus column is positive below the diagonal.
  const std::int64_t sign = uplo == Uplo::lower ? 1 : -1;
  k.affine_select({.dst = to,
                   .pattern = {{-sign, tile.dim(1)}},
                   .channel_multiplier = sign,
                   .on_true_tile = tile,
                   .on_false_value = 0.0,
                   .cmp_op = strict ? AluOp::greater : AluOp::greater_equal,
                   .offset = sign * down});
}

View symmetric_block(Kernel& k, const View& a, std::int64_t start, std::int64_t size, Uplo uplo) {
  const auto square = [&] { return k.sbuf({size, size}, DType::float32); };
  const View loaded = square(), kept = square(), strict = square(), turned = square();
  k.dma_copy({.dst = loaded, .src = a(ds(start, size), ds(start, size))});
  keep_triangle(k, kept, loaded, uplo);
  keep_triangle(k, strict, loaded, uplo, 0, true);
  turn(k, turned, strict);
  k.tensor_tensor({.dst = kept, .data1 = kept, .data2 = turned, .op = AluOp::add});
  return kept;
}

}  // namespace kiln::kernels
