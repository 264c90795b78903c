#include "kernels/blas/triangular_inverse.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

namespace {

void apply(Kernel& k, const View& to, const View& a, const View& b, AluOp op) {
  k.tensor_tensor({.dst = to, .data1 = a, .data2 = b, .op = op, .engine = Engine::vector});
}

View product(Kernel& k, const View& stationary, const View& moving) {
  const View sum = k.psum({stationary.dim(1), moving.dim(1)}, f32);
  k.nc_matmul({.dst = sum, .stationary = stationary, .moving = moving});
  return sum;
}

}  // namespace

TriangularInverse::TriangularInverse(Kernel& k, std::int64_t largest) : k_(k) {
  identity_ = block_mask(1);
  if (largest == 0) return;
  pairs_ = block_mask(2);
  View smaller = pairs_;
  for (std::int64_t size = 4; size / 2 < largest; size *= 2) {
    const View larger = block_mask(size);
    masks_.push_back(k.sbuf({kTile, kTile}, f32));
    apply(k, masks_.back(), larger, smaller, AluOp::subtract);
    smaller = larger;
  }
}

// Ones in the diagonal blocks of a size.
View TriangularInverse::block_mask(std::int64_t size) const {
  const View mask = k_.sbuf({kTile, kTile}, f32);
  k_.memset({.dst = mask, .value = 1.0});
  if (size == kTile) return mask;
  // Column g * size + w belongs to the rows from g * size to g * size + size - 1.
  const auto keep = [&](std::int64_t sign, std::int64_t offset) {
    const View blocks = mask.reshape_dim(1, {kTile / size, size});
    k_.affine_select({.dst = blocks,
                      .pattern = {{-sign * size, kTile / size}, {0, size}},
                      .channel_multiplier = sign,
                      .on_true_tile = blocks,
                      .on_false_value = 0.0,
                      .cmp_op = AluOp::greater_equal,
                      .offset = offset});
  };
  keep(1, 0);
  keep(-1, size - 1);
  return mask;
}

View TriangularInverse::transposed_inverse(const View& tile, Uplo uplo, const View* diagonal) const {
  const std::int64_t n = tile.dim(0);
  const auto cut = [&](const View& mask) { return mask(ds(0, n), ds(0, n)); };
  const auto square = [&] { return k_.sbuf({n, n}, f32); };
  // T = D (I + N), and the inverse is that of I + N times D⁻¹.
  const View strict = square();
  keep_triangle(k_, strict, tile, uplo, 0, true);
  View inverse_diagonal;
  if (diagonal) {
    inverse_diagonal = k_.sbuf({n, 1}, f32);
    k_.reciprocal({.dst = inverse_diagonal, .data = *diagonal});
    k_.tensor_scalar({.dst = strict, .data = strict, .op0 = AluOp::multiply, .operand0 = inverse_diagonal});
  }
  const View turned = k_.psum({n, n}, f32), strict_t = square();
  k_.nc_transpose({.dst = turned, .data = strict});
  evict(k_, strict_t, turned, 1);

  View v = square(), v_t = square();
  const auto start = [&](const View& to, const View& from) {  // blocks of 2: I - N
    apply(k_, to, from, cut(pairs_), AluOp::multiply);
    apply(k_, to, cut(identity_), to, AluOp::subtract);
  };
  start(v, strict);
  start(v_t, strict_t);
  std::size_t step = 0;
  for (std::int64_t size = 2; size < n; size *= 2, ++step) {
    const View beside = square(), w = square(), next_t = square();
    apply(k_, beside, strict_t, cut(masks_[step]), AluOp::multiply);
    evict(k_, w, product(k_, beside, v), 1);
    apply(k_, next_t, v_t, product(k_, w, v_t), AluOp::subtract);
    if (2 * size < n) {
      const View next = square();
      apply(k_, next, v, product(k_, v_t, w), AluOp::subtract);
      v = next;
    }
    v_t = next_t;
  }
  if (!diagonal) return v_t;
  const View result = square();
  k_.tensor_scalar({.dst = result, .data = v_t, .op0 = AluOp::multiply, .operand0 = inverse_diagonal});
  return result;
}

}  // namespace kiln::kernels
