// dsdot: products split into parts that float32 holds exactly, and sums that keep their rounding errors: each place of
// a tile has a running sum and a running error, which are added up pairwise at the end.
#include "kernels/blas/level1/level1.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kWidth = 256;

class Exact {
 public:
  Exact(Kernel& k, std::int64_t rows, std::int64_t width) : k_(k), rows_(rows), width_(width) {}

  View tile() const { return k_.sbuf({rows_, width_}, DType::float32); }
  View op(const View& a, const View& b, AluOp op) const {
    const View out = tile();
    k_.tensor_tensor({.dst = out, .data1 = a, .data2 = b, .op = op});
    return out;
  }
  View add(const View& a, const View& b) const { return op(a, b, AluOp::add); }
  View sub(const View& a, const View& b) const { return op(a, b, AluOp::subtract); }
  View mul(const View& a, const View& b) const { return op(a, b, AluOp::multiply); }

  // a = high + low, with 12 bits in each.
  std::pair<View, View> split(const View& a) const {
    const View c = tile();
    k_.tensor_scalar({.dst = c, .data = a, .op0 = AluOp::multiply, .operand0 = 4097.0});
    const View high = sub(c, sub(c, a));
    return {high, sub(a, high)};
  }
  // a b = product + error.
  std::pair<View, View> product(const View& a, const View& b) const {
    const View p = mul(a, b);
    const auto [a1, a0] = split(a);
    const auto [b1, b0] = split(b);
    const View e = sub(mul(a0, b0), sub(sub(sub(p, mul(a1, b1)), mul(a0, b1)), mul(a1, b0)));
    return {p, e};
  }
  // a + b = sum + error.
  std::pair<View, View> sum(const View& a, const View& b) const {
    const View s = add(a, b), bb = sub(s, a);
    return {s, add(sub(a, sub(s, bb)), sub(b, bb))};
  }

 private:
  Kernel& k_;
  std::int64_t rows_, width_;
};

// sums + errors += high + low, in place.
void accumulate(Kernel& k, const View& sums, const View& errors, const View& high, const View& low) {
  const Exact x(k, high.dim(0), high.dim(1));
  const auto [s, e] = x.sum(sums, high);
  k.tensor_copy({.dst = sums, .src = s});
  k.tensor_tensor({.dst = errors, .data1 = errors, .data2 = x.add(e, low), .op = AluOp::add});
}

// Adds the right half of both to the left one until one column is left. The width is a power of two.
void fold(Kernel& k, const View& sums, const View& errors) {
  for (std::int64_t half = sums.dim(1) / 2; half > 0; half /= 2) {
    accumulate(k, sums(all, ds(0, half)), errors(all, ds(0, half)), sums(all, ds(half, half)),
               errors(all, ds(half, half)));
  }
}

}  // namespace

Program dsdot(const VectorShape& x_shape, const VectorShape& y_shape, Target target) {
  Kernel k("dsdot", target);
  const View x = k.input("x", {x_shape.storage()}, DType::float32);
  const View y = k.input("y", {y_shape.storage()}, DType::float32);
  const View out = k.output("sum", {1, 2}, DType::float32);
  const View sums = k.sbuf({128, kWidth}, DType::float32), errors = k.sbuf({128, kWidth}, DType::float32);
  k.memset({.dst = sums, .value = 0.0});
  k.memset({.dst = errors, .value = 0.0});
  for_vector_tiles(k, x_shape.n, kWidth, [&](const VectorTile& tile) {
    const Exact exact(k, tile.rows, tile.width);
    const View a = exact.tile(), b = exact.tile();
    k.dma_copy({.dst = a, .src = tile_of(x, x_shape, tile)});
    k.dma_copy({.dst = b, .src = tile_of(y, y_shape, tile)});
    const auto [p, e] = exact.product(a, b);
    accumulate(k, sums(ds(0, tile.rows), ds(0, tile.width)), errors(ds(0, tile.rows), ds(0, tile.width)), p, e);
  });
  fold(k, sums, errors);
  const View sum_row = as_row(k, sums(all, ds(0, 1))), error_row = as_row(k, errors(all, ds(0, 1)));
  fold(k, sum_row, error_row);
  const View result = k.sbuf({1, 2}, DType::float32);
  k.tensor_copy({.dst = result(all, ds(0, 1)), .src = sum_row(all, ds(0, 1))});
  k.tensor_copy({.dst = result(all, ds(1, 1)), .src = error_row(all, ds(0, 1))});
  k.dma_copy({.dst = out, .src = result});
  return k.finish();
}

}  // namespace kiln::kernels
