// nrm2 in two passes: the largest |x|, then the sum of squares of x over it, so that no square overflows or vanishes.
#include "kernels/blas/level1/level1.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kWidth = 1024;
// The scale stays a number, and a normal one, for vectors of zeros, of subnormals and of infinities.
constexpr double kLeast = 0x1p-126, kMost = 0x1p126;

void for_planes(Kernel& k, const View& x, const VectorShape& shape, const std::function<void(const View&)>& body) {
  for_vector_tiles(k, shape.n, kWidth, [&](const VectorTile& tile) {
    for (int p = 0; p < shape.planes(); ++p) {
      const View t = k.sbuf({tile.rows, tile.width}, DType::float32);
      k.dma_copy({.dst = t, .src = tile_of(x, shape, tile, p)});
      body(t);
    }
  });
}

// 1 / the largest |x|, on all partitions.
View scale_of(Kernel& k, const View& x, const VectorShape& shape) {
  const View largest = k.sbuf({128, 1}, DType::float32);
  k.memset({.dst = largest, .value = 0.0});
  for_planes(k, x, shape, [&](const View& t) {
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::abs});
    const View part = k.sbuf({t.dim(0), 1}, DType::float32), best = largest(ds(0, t.dim(0)));
    k.tensor_reduce({.dst = part, .op = AluOp::maximum, .data = t, .axis = {1}});
    k.tensor_tensor({.dst = best, .data1 = best, .data2 = part, .op = AluOp::maximum});
  });
  const View one = k.sbuf({1, 1}, DType::float32);
  k.tensor_reduce({.dst = one, .op = AluOp::maximum, .data = as_row(k, largest), .axis = {1}});
  k.tensor_scalar(
      {.dst = one, .data = one, .op0 = AluOp::maximum, .operand0 = kLeast, .op1 = AluOp::minimum, .operand1 = kMost});
  k.reciprocal({.dst = one, .data = one});
  return on_partitions(k, one, 128);
}

}  // namespace

Program nrm2(const VectorShape& shape, Target target) {
  Kernel k("nrm2", target);
  const View x = k.input("x", {shape.storage()}, DType::float32);
  const View sum = k.output("sum", {1, 2}, DType::float32);
  const View scale = scale_of(k, x, shape), sums = k.sbuf({128, 1}, DType::float32);
  k.memset({.dst = sums, .value = 0.0});
  for_planes(k, x, shape, [&](const View& t) {
    const View part = k.sbuf({t.dim(0), 1}, DType::float32), total = sums(ds(0, t.dim(0)));
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = scale(ds(0, t.dim(0)))});
    k.tensor_tensor({.dst = t, .data1 = t, .data2 = t, .op = AluOp::multiply});
    k.tensor_reduce({.dst = part, .op = AluOp::add, .data = t, .axis = {1}});
    k.tensor_tensor({.dst = total, .data1 = total, .data2 = part, .op = AluOp::add});
  });
  const View result = k.sbuf({1, 2}, DType::float32);
  k.tensor_copy({.dst = result(all, ds(0, 1)), .src = partition_sum(k, sums)});
  k.tensor_copy({.dst = result(all, ds(1, 1)), .src = scale(ds(0, 1))});
  k.dma_copy({.dst = sum, .src = result});
  return k.finish();
}

}  // namespace kiln::kernels
