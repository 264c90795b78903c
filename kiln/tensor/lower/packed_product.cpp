// Products of many short rows: several of them follow each other on each partition, so that they come and go in long
// runs, are turned as many as fit a bank of PSUM, and leave it together.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

void repeat(isa::Kernel& k, std::int64_t n, const std::function<void(Index)>& body) {
  if (n == 1)
    body(0);
  else
    k.loop(n, body);
}

}  // namespace

// The first operand of a product, (packed rows, K) in SBUF, in the dtype that the product takes.
Tile RegionEmitter::packed_rows(Value v) {
  const Type& type = graph_.type(graph_.op(v).operands[0]);
  Tile x = operand(v, 0);
  x.dims = {spread_dims(x, {layout_.packed, Strided{0, x.dims}.shape()}).back()};
  if (!x.in_psum() && x.dtype() == type.dtype) return x;
  const Free free{layout_.packed, {type.shape.back()}};
  const Tile copied = new_tile(k_, Memory::sbuf, rows_, free, type.dtype);
  copy(copied, x, free);
  return copied;
}

Tile RegionEmitter::multiply_packed(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const std::int64_t K = graph_.type(op.operands[0]).shape.back(), N = op.type.shape.back();
  const int leaf = layout_.load_of.at({v, 1});
  const Tile* held = nullptr;
  for (const Scope& s : scopes_) {
    if (const auto it = s.matrices.find(leaf); it != s.matrices.end()) held = &it->second;
  }
  const Tile y = held ? *held : load_matrix(leaf, 0, N);
  const Tile x = packed_rows(v), dst = target(v, into);
  const bool above = y.rows > K && x.packed.stride == K && x.dims[0].stride == 1 && is_float(dst.dtype());
  const std::int64_t done = above ? multiply_above(dst, x, y, N) : 0, left = layout_.packed - done;
  if (left == 0) return dst;
  const DType t = x.dtype();
  const std::int64_t step = x.dims[0].stride, blocks = (K + kBlock - 1) / kBlock, bank = arch_.psum_bank_bytes;
  const std::int64_t most = std::min(bank / (rows_ * size_bytes(t)), bank / (N * size_bytes(DType::float32)));
  k_.tiles(left, std::clamp<std::int64_t>(most, 1, left), [&](Index behind, std::int64_t n) {
    const Index first = behind + done;
    const std::int64_t width = n * rows_;
    const Tile turned = new_tile(k_, Memory::sbuf, std::min(K, kBlock), {1, {blocks * width}}, t);
    over_blocks(k_, K, [&](Index b, std::int64_t depth) {
      const View sides = k_.psum({depth, width}, t);
      repeat(k_, n, [&](Index i) {
        k_.nc_transpose({.dst = sides.ap({{width, depth}, {1, rows_}}, i * rows_),
                         .data = view_of(x, {{step, depth}}, (first + i) * x.packed.stride + b * (kBlock * step))});
      });
      k_.tensor_copy({.dst = block(turned, b, 0, depth, width, width), .src = sides, .engine = evacuator()});
    });
    const View sums = k_.psum({rows_, n * N}, DType::float32);
    repeat(k_, n, [&](Index i) {
      over_blocks(k_, K, [&](Index b, std::int64_t depth) {
        k_.nc_matmul({.dst = sums.ap({{n * N, rows_}, {1, N}}, i * N),
                      .stationary = block(turned, b, i * rows_, depth, rows_, width),
                      .moving = block(y, b, 0, depth, N, y.rows > K ? K : N)});
      });
    });
    const std::int64_t apart = dst.packed.stride, stride = dst.dims.back().stride;
    k_.tensor_copy({.dst = view_of(dst, {{apart, n}, {stride, N}}, first * apart),
                    .src = sums.ap({{n * N, rows_}, {N, n}, {1, N}}, 0),
                    .engine = evacuator()});
  });
  return dst;
}

}  // namespace kiln::tensor
