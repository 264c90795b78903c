// iamax: per piece, the largest |x| over all partitions, then the first element that equals it. A piece is small enough
// for its indices to be exact in float32.
#include "kernels/blas/level1/level1.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr double kNowhere = 0x1p24;  // beyond every index of a piece

// |x|, or |re| + |im|, of a tile.
View magnitudes(Kernel& k, const View& x, const VectorShape& shape, const VectorTile& tile) {
  View total;
  for (int p = 0; p < shape.planes(); ++p) {
    const View t = k.sbuf({tile.rows, tile.width}, DType::float32);
    k.dma_copy({.dst = t, .src = tile_of(x, shape, tile, p)});
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::abs});
    if (p == 0) {
      total = t;
    } else {
      k.tensor_tensor({.dst = total, .data1 = total, .data2 = t, .op = AluOp::add});
    }
  }
  return total;
}

// The largest or smallest of a column over its partitions, [1, 1].
View over_partitions(Kernel& k, const View& column, AluOp op) {
  const View one = k.sbuf({1, 1}, DType::float32);
  k.tensor_reduce({.dst = one, .op = op, .data = as_row(k, column), .axis = {1}});
  return one;
}

// Per partition, the first position, counted through the tile, of a value that is the best one.
View first_equal(Kernel& k, const View& values, const View& best, std::int64_t width) {
  const std::int64_t rows = values.dim(0);
  const View is_best = k.sbuf({rows, width}, DType::float32), index = k.sbuf({rows, width}, DType::float32);
  const View positions = k.sbuf({rows, width}, DType::int32), first = k.sbuf({rows, 1}, DType::float32);
  // x != best is 1 for a NaN too; x == x is 0 for it: a NaN is the best where the best is one.
  const View is_nan = k.sbuf({rows, width}, DType::float32), best_is_nan = k.sbuf({rows, 1}, DType::float32);
  k.tensor_tensor({.dst = is_nan, .data1 = values, .data2 = values, .op = AluOp::not_equal});
  k.tensor_tensor({.dst = best_is_nan, .data1 = best, .data2 = best, .op = AluOp::not_equal});
  k.tensor_scalar({.dst = is_nan, .data = is_nan, .op0 = AluOp::multiply, .operand0 = best_is_nan});
  k.tensor_scalar({.dst = is_best, .data = values, .op0 = AluOp::equal, .operand0 = best});
  k.tensor_tensor({.dst = is_best, .data1 = is_best, .data2 = is_nan, .op = AluOp::maximum});
  k.iota({.dst = positions, .pattern = {{1, width}}, .channel_multiplier = width});
  k.tensor_copy({.dst = index, .src = positions});
  // index where it is the best, else kNowhere: (index - kNowhere) * is_best + kNowhere, exact in float32.
  k.tensor_scalar({.dst = index, .data = index, .op0 = AluOp::subtract, .operand0 = kNowhere});
  k.tensor_tensor({.dst = index, .data1 = index, .data2 = is_best, .op = AluOp::multiply});
  k.tensor_scalar({.dst = index, .data = index, .op0 = AluOp::add, .operand0 = kNowhere});
  k.tensor_reduce({.dst = first, .op = AluOp::minimum, .data = index, .axis = {1}});
  return first;
}

}  // namespace

Program iamax(const VectorShape& shape, Target target) {
  Kernel k("iamax", target);
  const std::int64_t pieces = iamax_pieces(shape.n), whole = shape.n / kIamaxPiece;
  const View x = k.input("x", {shape.storage()}, DType::float32);
  const View best = k.output("best", {2, pieces}, DType::float32);
  const auto piece = [&](Index number, std::int64_t n) {
    // What remains of the vector is a tile of whole rows and a row of what is left.
    const std::int64_t width = (n + 127) / 128, rows = n / width, rest = n - rows * width;
    const Index start = number * kIamaxPiece;
    const View values = k.sbuf({128, width}, DType::float32), largest = k.sbuf({128, 1}, DType::float32);
    k.memset({.dst = values, .value = -1.0});  // below every magnitude
    k.tensor_copy({.dst = values(ds(0, rows)), .src = magnitudes(k, x, shape, {start, rows, width})});
    if (rest > 0) {
      const View tail = magnitudes(k, x, shape, {start + rows * width, 1, rest});
      k.dma_copy({.dst = values(ds(rows, 1), ds(0, rest)), .src = tail});
    }
    k.tensor_reduce({.dst = largest, .op = AluOp::maximum, .data = values, .axis = {1}});
    const View top = over_partitions(k, largest, AluOp::maximum);
    const View where = over_partitions(k, first_equal(k, values, on_partitions(k, top, 128), width), AluOp::minimum);
    k.dma_copy({.dst = best.ap({{1, 1}, {1, 1}}, number), .src = top});
    k.dma_copy({.dst = best.ap({{1, 1}, {1, 1}}, number + pieces), .src = where});
  };
  if (whole > 0) k.loop(whole, [&](Index i) { piece(i, kIamaxPiece); });
  if (whole < pieces) piece(Index(whole), shape.n - whole * kIamaxPiece);
  return k.finish();
}

}  // namespace kiln::kernels
