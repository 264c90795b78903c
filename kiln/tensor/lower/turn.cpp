#include "kiln/tensor/lower/turn.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {
constexpr std::int64_t kRowBytes = 32 << 10;  // of a partition, for rows that are turned together
}

View block(const Tile& t, Index b, Index column, std::int64_t rows, std::int64_t columns, std::int64_t width) {
  const std::int64_t stride = t.dims.back().stride;
  return t.storage.ap({{t.storage.dim(1), rows}, {stride, columns}}, t.offset + b * width + column * stride);
}

void over_blocks(isa::Kernel& k, std::int64_t K, const std::function<void(Index, std::int64_t)>& body) {
  const std::int64_t whole = K / kBlock;
  if (whole == 1)
    body(0, kBlock);
  else if (whole > 1)
    k.loop(whole, [&](Index b) { body(b, kBlock); });
  if (K % kBlock) body(whole, K % kBlock);
}

View Turner::room(const isa::Shape& shape, DType dtype) const {
  return as_bits && size_bytes(dtype) > 1 ? k.sbuf(shape, dtype) : k.psum(shape, turned_as(dtype));
}

Engine Turner::taker(DType dtype) const {
  return is_integer(dtype) && size_bytes(dtype) == 4 ? Engine::vector : evacuator();
}

// Products with 0 and 1 leave integers of 16 bits as they are, whatever numbers the bits are.
void Turner::block(const View& dst, const View& data) const {
  if (size_bytes(data.dtype()) == 1) {
    const View numbers = k.sbuf({data.dim(0), data.dim(1)}, turned_as(data.dtype()));
    k.tensor_copy({.dst = numbers, .src = data});
    k.nc_transpose({.dst = dst, .data = numbers});
    return;
  }
  if (!as_bits || dst.memory() == Memory::psum) {
    k.nc_transpose({.dst = dst, .data = data});
    return;
  }
  const std::int64_t rows = data.dim(0), columns = data.dim(1), halves = size_bytes(data.dtype()) / 2;
  View whole = data;
  if (data.stride(1) != 1) {
    whole = k.sbuf({rows, columns}, data.dtype());
    k.tensor_copy({.dst = whole, .src = data});
  }
  for (std::int64_t h = 0; h < halves; ++h) {
    const View numbers = k.sbuf({rows, columns}, DType::float32), turned = k.psum({columns, rows}, DType::float32);
    k.tensor_copy({.dst = numbers, .src = whole.view(DType::uint16).slice(1, h, columns, halves)});
    k.nc_transpose({.dst = turned, .data = numbers});
    k.tensor_copy(
        {.dst = dst.view(DType::uint16).slice(1, h, rows, halves), .src = turned, .engine = taker(dst.dtype())});
  }
}

// Blocks of 128 columns of src, turned: dst has a row per column of src. As many as fit a bank of PSUM leave it at
// once.
void Turner::tile(const Tile& dst, const Tile& src, std::int64_t columns) const {
  const std::int64_t rows = src.rows, whole = columns / kBlock;
  const std::int64_t together =
      std::max<std::int64_t>(1, arch.psum_bank_bytes / (rows * size_bytes(turned_as(src.dtype()))));
  const auto turn = [&](const View& turned, Index b, std::int64_t n) {
    block(turned, src.storage.ap({{src.storage.dim(1), rows}, {src.dims[0].stride, n}},
                                 src.offset + b * (kBlock * src.dims[0].stride)));
  };
  const std::int64_t moved = size_bytes(src.dtype()) == 2 && src.dims[0].stride == 1 ? whole * by_dma / 16 : 0;
  if (moved > 0)
    k.dma_transpose({.dst = dst.storage.ap({{dst.storage.dim(1), kBlock}, {rows, moved}, {1, rows}}, dst.offset),
                     .src = src.storage.ap({{src.storage.dim(1), rows}, {kBlock, moved}, {1, kBlock}}, src.offset)});
  k.tiles(whole - moved, together, [&](Index start, std::int64_t m) {
    const View turned = room({kBlock, m * rows}, src.dtype());
    const Index first = start + moved;
    const auto one = [&](Index i) { turn(turned.ap({{m * rows, kBlock}, {1, rows}}, i * rows), first + i, kBlock); };
    if (m == 1)
      one(0);
    else
      k.loop(m, one);
    k.tensor_copy(
        {.dst = tensor::block(dst, first, 0, kBlock, m * rows, rows), .src = turned, .engine = taker(dst.dtype())});
  });
  if (const std::int64_t n = columns % kBlock) {
    const View turned = room({n, rows}, src.dtype());
    turn(turned, whole, n);
    k.tensor_copy({.dst = tensor::block(dst, whole, 0, n, rows, rows), .src = turned, .engine = taker(dst.dtype())});
  }
}

void Turner::strided(const Tile& dst, const Tile& src, std::int64_t blocks) const {
  const std::int64_t rows = src.rows, columns = dst.rows, stride = src.dims[0].stride;
  const std::int64_t together =
      std::max<std::int64_t>(1, arch.psum_bank_bytes / (rows * size_bytes(turned_as(src.dtype()))));
  k.tiles(blocks, together, [&](Index first, std::int64_t m) {
    const View turned = room({columns, m * rows}, src.dtype());
    const auto one = [&](Index i) {
      block(
          turned.ap({{m * rows, columns}, {1, rows}}, i * rows),
          src.storage.ap({{src.storage.dim(1), rows}, {stride * blocks, columns}}, src.offset + (first + i) * stride));
    };
    if (m == 1)
      one(0);
    else
      k.loop(m, one);
    k.tensor_copy(
        {.dst = tensor::block(dst, first, 0, columns, m * rows, rows), .src = turned, .engine = taker(dst.dtype())});
  });
}

// Columns that lie in HBM as rows of K elements: loaded in blocks of 128, turned, as many as fit a bank together.
void Turner::from_hbm(const Tile& out, const View& hbm, const Index& at, std::int64_t K, std::int64_t stride,
                      std::int64_t columns, std::int64_t width) const {
  const DType t = size_bytes(hbm.dtype()) == 1 ? turned_as(hbm.dtype()) : out.dtype();  // DMAs convert
  if (width == 0) width = columns;
  const std::int64_t row = out.storage.dim(1), whole = columns / kBlock;
  const std::int64_t together = std::max<std::int64_t>(
      1, std::min(arch.psum_bank_bytes / (kBlock * size_bytes(t)), kRowBytes / (K * size_bytes(t))));
  const auto turn = [&](const Tile& rows, Index first, std::int64_t m, std::int64_t n) {  // m blocks of n columns
    over_blocks(k, K, [&](Index b, std::int64_t depth) {
      const View turned = room({depth, m * n}, t);
      const auto one = [&](Index i) {
        block(turned.ap({{m * n, depth}, {1, n}}, i * n), view_of(rows, {{1, depth}}, i * K + b * kBlock));
      };
      if (m == 1)
        one(0);
      else
        k.loop(m, one);
      k.tensor_copy({.dst = out.storage.ap({{row, depth}, {1, m * n}}, out.offset + b * width + first),
                     .src = turned,
                     .engine = taker(out.dtype())});
    });
  };
  k.tiles(whole, together, [&](Index first, std::int64_t m) {
    const Tile rows = new_tile(k, Memory::sbuf, kBlock, {1, {m * K}}, t);
    k.dma_copy({.dst = view_of(rows, {{K, m}, {1, K}}),
                .src = hbm.ap({{stride, kBlock}, {stride * kBlock, m}, {1, K}}, at + first * (kBlock * stride))});
    turn(rows, first * kBlock, m, kBlock);
  });
  if (const std::int64_t n = columns % kBlock) {
    const Tile rows = new_tile(k, Memory::sbuf, n, {1, {K}}, t);
    k.dma_copy({.dst = view_of(rows, {{1, K}}), .src = hbm.ap({{stride, n}, {1, K}}, at + whole * kBlock * stride)});
    turn(rows, whole * kBlock, 1, n);
  }
}

}  // namespace kiln::tensor
