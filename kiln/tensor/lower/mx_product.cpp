// Products of microscaled numbers: both operands are quantised on the chip. Element k of a sum of 512 lies on partition
// k / 4, so that the four of a packed element, and the eight partitions of a group of 32, follow each other as they do
// in memory. Rows of x are turned on the tensor engine, every fourth column at a time.
#include <algorithm>
#include <functional>

#include "kiln/tensor/lower/copies.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kPacked = 4, kColumns = 512;
constexpr std::int64_t kHeldBytes = 65536;  // of a partition, for rows of x that are quantised once

// Packed elements and their scales: blocks of the sum side by side.
struct Quantised {
  View data, scales;
};

struct MxProduct {
  isa::Kernel& k;
  View x, y, out;
  std::int64_t x_at, y_at;  // where they begin in their storage
  std::int64_t M, K, N;
  DType packed;
  int evacuations = 0;

  // Partitions of a block of the sum.
  std::int64_t partitions() const { return K <= 128 ? 32 : K <= 256 ? 64 : kBlock; }
  std::int64_t depth() const { return kPacked * partitions(); }
  std::int64_t blocks() const { return (K + depth() - 1) / depth(); }
  Engine evacuator() { return ++evacuations % 2 == 0 ? Engine::scalar : Engine::unknown; }

  Quantised room(std::int64_t columns) {
    return {k.sbuf({partitions(), blocks() * columns}, packed),
            k.sbuf({partitions(), blocks() * columns}, DType::uint8)};
  }
  // `apart` is (partitions, 4, columns).
  void quantise(const Quantised& to, const View& apart, const Index& at, std::int64_t columns) {
    const std::int64_t row = to.data.dim(1), P = partitions();
    k.quantize_mx({.dst = to.data.ap({{row, P}, {1, columns}}, at),
                   .src = apart.ap({{kPacked * columns, P}, {1, columns}, {columns, kPacked}}),
                   .dst_scale = to.scales.ap({{row, P}, {1, columns}}, at)});
  }
  // Calls body(block, elements) for the whole blocks of the sum, then for what remains.
  void over_sum(const std::function<void(const Index&, std::int64_t)>& body) {
    if (const std::int64_t whole = K / depth()) k.tiles(whole, 1, [&](Index b, std::int64_t) { body(b, depth()); });
    if (K % depth()) body(K / depth(), K % depth());
  }
  void load_rows(const Quantised& to, const Index& first, const Index& row, std::int64_t rows, std::int64_t held);
  Quantised load_columns(const Index& column, std::int64_t columns);
  void run();
};

// The number of columns of a stationary operand is even.
std::int64_t even(std::int64_t n) { return n + n % 2; }

void MxProduct::load_rows(const Quantised& to, const Index& first, const Index& row, std::int64_t rows,
                          std::int64_t held) {
  const std::int64_t P = partitions(), width = blocks() * depth(), m = even(rows);
  const View tile = k.sbuf({rows, width}, x.dtype());
  if (width != K) k.memset({.dst = tile, .value = 0.0});
  k.dma_copy({.dst = tile.ap({{width, rows}, {1, K}}), .src = x.ap({{K, rows}, {1, K}}, x_at + (first + row) * K)});
  k.tiles(blocks(), 1, [&](Index b, std::int64_t) {
    const View turned = k.psum({P, kPacked * rows}, x.dtype()), apart = k.sbuf({P, kPacked * m}, x.dtype());
    for (std::int64_t q = 0; q < kPacked; ++q) {
      k.nc_transpose({.dst = turned.ap({{kPacked * rows, P}, {1, rows}}, q * rows),
                      .data = tile.ap({{width, rows}, {kPacked, P}}, b * depth() + q)});
    }
    if (m != rows) k.memset({.dst = apart, .value = 0.0});
    k.tensor_copy({.dst = apart.ap({{kPacked * m, P}, {m, kPacked}, {1, rows}}),
                   .src = turned.ap({{kPacked * rows, P}, {rows, kPacked}, {1, rows}}),
                   .engine = evacuator()});
    quantise(to, apart, b * held + row, m);
  });
}

Quantised MxProduct::load_columns(const Index& column, std::int64_t columns) {
  const Quantised to = room(columns);
  const std::int64_t P = partitions(), row = kPacked * columns;
  over_sum([&](const Index& b, std::int64_t count) {
    const View apart = k.sbuf({P, row}, y.dtype());
    const std::int64_t whole = count / kPacked, rest = count % kPacked;
    if (count != depth()) k.memset({.dst = apart, .value = 0.0});
    const Index from = y_at + b * (depth() * N) + column;
    if (whole > 0)
      k.dma_copy({.dst = apart.ap({{row, whole}, {columns, kPacked}, {1, columns}}),
                  .src = y.ap({{kPacked * N, whole}, {N, kPacked}, {1, columns}}, from)});
    if (rest > 0)
      k.dma_copy({.dst = apart.ap({{row, 1}, {columns, rest}, {1, columns}}, whole * row),
                  .src = y.ap({{kPacked * N, 1}, {N, rest}, {1, columns}}, from + whole * kPacked * N)});
    quantise(to, apart, b * columns, columns);
  });
  return to;
}

void MxProduct::run() {
  const std::int64_t P = partitions();
  const std::int64_t fitting = kHeldBytes / (blocks() * (size_bytes(packed) + 1)) / kBlock * kBlock;
  const std::int64_t held = std::min((M + kBlock - 1) / kBlock * kBlock, std::max(kBlock, fitting));
  k.tiles(M, held, [&](Index first, std::int64_t rows) {
    const Quantised left = room(held);
    k.tiles(rows, kBlock, [&](Index r, std::int64_t m) { load_rows(left, first, r, m, held); });
    k.tiles(N, kColumns, [&](Index column, std::int64_t n) {
      const Quantised right = load_columns(column, n);
      k.tiles(rows, kBlock, [&](Index r, std::int64_t m) {
        const View sum = k.psum({even(m), n}, DType::float32);
        k.tiles(blocks(), 1, [&](Index b, std::int64_t) {
          const auto part = [&](const View& v, const Index& at, std::int64_t columns) {
            return v.ap({{v.dim(1), P}, {1, columns}}, at);
          };
          k.nc_matmul_mx({.dst = sum,
                          .stationary = part(left.data, b * held + r, even(m)),
                          .moving = part(right.data, b * n, n),
                          .stationary_scale = part(left.scales, b * held + r, even(m)),
                          .moving_scale = part(right.scales, b * n, n)});
        });
        const View done = k.sbuf({m, n}, DType::float32);
        k.tensor_copy({.dst = done, .src = sum.slice(0, 0, m), .engine = evacuator()});
        k.dma_copy({.dst = out.ap({{N, m}, {1, n}}, (first + r) * N + column), .src = done});
      });
    });
  });
}

}  // namespace

void Copies::multiply_mx(Value v) {
  const Op& op = graph.op(v);
  const Shape &a = graph.type(op.operands[0]).shape, &b = graph.type(op.operands[1]).shape;
  const bool wide = std::get<DType>(op.attr("dtype")) == DType::float8_e5m2;
  const auto [x, from_x] = stored(op.operands[0]);
  const auto [y, from_y] = stored(op.operands[1]);
  MxProduct{.k = k,
            .x = x,
            .y = y,
            .out = storage.of.at(v),
            .x_at = from_x.offset,
            .y_at = from_y.offset,
            .M = product(a, 0, a.size() - 1),
            .K = b[0],
            .N = b[1],
            .packed = wide ? DType::float8_e5m2_x4 : DType::float8_e4m3fn_x4}
      .run();
}

}  // namespace kiln::tensor
