#include "kernels/blas/double_loops.h"

#include "kernels/blas/dtypes.h"

#include <algorithm>
#include <cmath>

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr int kExact = 4;                   // orders 0 to 3 are summed exactly
constexpr int kOfHigh = 3;                  // slices that are cut before the lower number is added
constexpr std::int64_t kChunk = 2 * kTile;  // of K: (order + 1) * 256 <= 1024 products in a sum
constexpr std::int64_t kMostExact = 65536;  // of K
constexpr double kMagic = 1.5 * 8388608;    // adding and taking away kMagic * u rounds to a multiple of u

double slice_unit(int slice) { return std::ldexp(1.0, -8 * slice - 7); }
double half_unit(int order) { return std::ldexp(1.0, 12 - 8 * order - 14); }  // of the upper half of a sum

DoubleLoops::Slices part(const DoubleLoops::Slices& panel, const Index& tile, std::int64_t rows, const Slice& columns) {
  DoubleLoops::Slices s;
  for (const View& v : panel) s.push_back(v(all, ds(tile, tiles_of(rows, kTile)), columns));
  return s;
}

}  // namespace

DoubleLoops::DoubleLoops(Kernel& k, const DoubleGemmConfig& c, const DoubleView& a, const DoubleView& b)
    : k_(k), c_(c), a_{{a.high, c.trans_a}, {a.low, c.trans_a}}, b_{{b.high, !c.trans_b}, {b.low, !c.trans_b}} {
  const Arch& chip = arch(k.program().target);
  const std::int64_t panel = c.slices * tiles_of(c.k, kTile) * kWide * 2, others = 48 * kWide * 4;
  resident_ = panel + others <= chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes;
}

void DoubleLoops::run(const DoubleView& c) {
  k_.tiles(c_.n, kWide, [&](Index n0, std::int64_t n) {
    const Slices panel = resident_ ? sliced_b(n0, n) : Slices();
    k_.tiles(c_.m, kTile, [&](Index m0, std::int64_t m) {
      const DoubleView found = block(m0, m, n0, n, {.b = resident_ ? &panel : nullptr});
      k_.dma_copy({.dst = c.high(ds(m0, m), ds(n0, n)), .src = found.high});
      k_.dma_copy({.dst = c.low(ds(m0, m), ds(n0, n)), .src = found.low});
    });
  });
}

DoubleLoops::Slices DoubleLoops::sliced(const Operand& from, const Index& x0, std::int64_t x) {
  Slices panel = slices(c_.k, x);
  for_chunks({0, c_.k}, [&](const Index& k0, const Index& tile, std::int64_t rows, bool) {
    cut(part(panel, tile, rows, all), from, k0, rows, x0, x);
  });
  return panel;
}
DoubleLoops::Slices DoubleLoops::sliced(const DoubleView& chunk) {
  Slices to = slices(c_.k, chunk.high.dim(2));
  cut(to, chunk, c_.k);
  return to;
}
DoubleLoops::Slices DoubleLoops::sliced_a() { return sliced(a_, 0, c_.m); }
DoubleLoops::Slices DoubleLoops::sliced_b(const Index& n0, std::int64_t n) { return sliced(b_, n0, n); }

// For a part of K: body(first row, first tile, rows, whether it is the first)
void DoubleLoops::for_chunks(const Piece& p,
                             const std::function<void(const Index&, const Index&, std::int64_t, bool)>& body) {
  const std::int64_t whole = p.size / kChunk, tiles = kChunk / kTile, tile = p.start / kTile;
  body(p.start, tile, std::min(p.size, kChunk), true);
  if (whole > 1) k_.loop(1, whole, 1, [&](Index i) { body(i * kChunk + p.start, i * tiles + tile, kChunk, false); });
  if (whole > 0 && p.size % kChunk) body(p.start + whole * kChunk, tile + whole * tiles, p.size % kChunk, false);
}

DoubleLoops::Slices DoubleLoops::slices(std::int64_t rows, std::int64_t x) {
  Slices s;
  for (int i = 0; i < c_.slices; ++i) s.push_back(chunk_tile(k_, rows, x, DType::bfloat16));
  return s;
}
// Loads a chunk of an operand and cuts it into slices.
void DoubleLoops::cut(const Slices& to, const Operand& from, const Index& k0, std::int64_t rows, const Index& x0,
                      std::int64_t x) {
  const View high = chunk_tile(k_, rows, x, f32), low = chunk_tile(k_, rows, x, f32);
  load_chunk(k_, high, from.high, k0, rows, x0, x);
  load_chunk(k_, low, from.low, k0, rows, x0, x);
  cut(to, {high, low}, rows);
}
void DoubleLoops::cut(const Slices& to, const DoubleView& chunk, std::int64_t rows) {
  const View &high = chunk.high, &low = chunk.low;
  const auto piece = [&](const Slice& partitions, const Slice& tiles) {
    View rest = high(partitions, tiles);
    const View lower = low(partitions, tiles), lost = c_.slices > 2 * kOfHigh ? cleared(lower) : View();
    for (int i = 0; i < c_.slices; ++i) {
      // What does not fit a float32 of both is what a seventh slice is made of.
      if (i == kOfHigh && lost.rank() > 0) rest = two_sum(rest, lower, lost);
      if (i == kOfHigh && lost.rank() == 0) apply(rest, rest, lower, AluOp::add, Engine::vector);
      if (i == 2 * kOfHigh) apply(rest, rest, lost, AluOp::add, Engine::vector);
      const View slice = to[i](partitions, tiles);
      round(slice, rest, kMagic * slice_unit(i));
      if (i + 1 < c_.slices) apply(rest, rest, slice, AluOp::subtract, Engine::gpsimd);
    }
  };
  if (rows / kTile > 0) piece(all, ds(0, rows / kTile));
  if (rows % kTile) piece(ds(0, rows % kTile), ds(rows / kTile, 1));
}

View DoubleLoops::cleared(const View& like) {
  const View to = k_.sbuf(like.shape(), f32);
  k_.memset({.dst = to, .value = 0.0});
  return to;
}

void DoubleLoops::apply(const View& to, const View& x, const View& y, AluOp op, Engine engine) {
  k_.tensor_tensor({.dst = to, .data1 = x, .data2 = y, .op = op, .engine = engine});
}
void DoubleLoops::round(const View& to, const View& x, double magic) {
  k_.tensor_scalar({.dst = to,
                    .data = x,
                    .op0 = AluOp::add,
                    .operand0 = magic,
                    .op1 = AluOp::subtract,
                    .operand1 = magic,
                    .engine = Engine::vector});
}

DoubleView DoubleLoops::block(const Index& m0, std::int64_t m, const Index& n0, std::int64_t n, const Kept& kept) {
  View high, low;
  for (const Piece& p : whole_pieces(c_.k, kMostExact)) {
    Sums sums;
    for (int o = 0; o <= kExact; ++o) sums.push_back(k_.sbuf({m, n}, f32));
    for_chunks(p, [&](const Index& k0, const Index& first, std::int64_t rows, bool is_first) {
      const Slices a = kept.a ? part(*kept.a, first, rows, ds(m0, m)) : slices(rows, m);
      if (!kept.a) cut(a, a_, k0, rows, m0, m);
      const Slices b = kept.b ? part(*kept.b, first, rows, all) : slices(rows, n);
      if (!kept.b) cut(b, b_, k0, rows, n0, n);
      multiply(sums, a, b, m, n, rows, is_first);
    });
    add_up(sums, high, low, p.start == 0);
  }
  return normal(high, low);
}

View DoubleLoops::bank(std::int64_t m, std::int64_t n) { return k_.psum({kTile, kWide}, f32)(ds(0, m), ds(0, n)); }

void DoubleLoops::add_products(const View& sum, const Slices& a, const Slices& b, int order, std::int64_t rows) {
  const auto step = [&](const Index& t, std::int64_t height) {
    for (int i = std::max(0, order - c_.slices + 1); i <= std::min(order, c_.slices - 1); ++i)
      k_.nc_matmul({.dst = sum, .stationary = a[i](ds(0, height), t), .moving = b[order - i](ds(0, height), t)});
  };
  if (rows / kTile > 0) k_.loop(rows / kTile, [&](Index t) { step(t, kTile); });
  if (rows % kTile) step(rows / kTile, rows % kTile);
}

void DoubleLoops::multiply(const Sums& sums, const Slices& a, const Slices& b, std::int64_t m, std::int64_t n,
                           std::int64_t rows, bool is_first) {
  for (int o = 0; o < kExact; ++o) {
    const View sum = bank(m, n);
    add_products(sum, a, b, o, rows);
    const View high = is_first && o == 0 ? sums[0] : k_.sbuf({m, n}, f32);
    const View low = is_first ? sums[o + 1] : k_.sbuf({m, n}, f32);
    round(high, sum, kMagic * half_unit(o));
    apply(low, sum, high, AluOp::subtract, Engine::vector);
    if (!is_first || o > 0) apply(sums[o], sums[o], high, AluOp::add, Engine::gpsimd);
    if (!is_first) apply(sums[o + 1], sums[o + 1], low, AluOp::add, Engine::gpsimd);
  }
  const View plain = bank(m, n);
  for (int o = kExact; o < c_.orders; ++o) add_products(plain, a, b, o, rows);
  apply(sums[kExact], sums[kExact], plain, AluOp::add, Engine::vector);
}

// Adds the sums of a part of K to the result, large ones first. The last sum is as small as what two-sums lose.
void DoubleLoops::add_up(const Sums& sums, View& high, View& low, bool is_first) {
  if (is_first) {
    high = sums[0], low = sums[kExact];
  } else {
    apply(low, low, sums[kExact], AluOp::add, Engine::vector);
    high = two_sum(high, sums[0], low);
  }
  for (int o = 1; o < kExact; ++o) high = two_sum(high, sums[o], low);
}

// The two parts of the result.
DoubleView DoubleLoops::normal(const View& high, const View& low) {
  const View total = k_.sbuf(high.shape(), f32), rest = k_.sbuf(high.shape(), f32);
  apply(total, high, low, AluOp::add, Engine::vector);
  apply(rest, total, high, AluOp::subtract, Engine::vector);
  apply(rest, low, rest, AluOp::subtract, Engine::vector);
  return {total, rest};
}

// x + y; what that loses is added to `lost`.
View DoubleLoops::two_sum(const View& x, const View& y, const View& lost) {
  const View sum = k_.sbuf(x.shape(), f32), part = k_.sbuf(x.shape(), f32), rest = k_.sbuf(x.shape(), f32);
  apply(sum, x, y, AluOp::add, Engine::vector);
  apply(part, sum, x, AluOp::subtract, Engine::vector);
  apply(rest, sum, part, AluOp::subtract, Engine::vector);
  apply(rest, x, rest, AluOp::subtract, Engine::vector);
  apply(part, y, part, AluOp::subtract, Engine::vector);
  apply(rest, rest, part, AluOp::add, Engine::vector);
  apply(lost, lost, rest, AluOp::add, Engine::vector);
  return sum;
}

}  // namespace kiln::kernels
