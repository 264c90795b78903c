#include "kernels/blas/double_gemm.h"

#include <algorithm>
#include <cmath>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr DType f32 = DType::float32;
constexpr int kSlices = 6, kExact = 4;      // orders 0 to 3 are summed exactly
constexpr std::int64_t kChunk = 2 * kTile;  // of K: (order + 1) * 256 <= 1024 products in a sum
constexpr std::int64_t kMostExact = 65536;  // of K
constexpr double kMagic = 1.5 * 8388608;    // adding and taking away kMagic * u rounds to a multiple of u

double slice_unit(int slice) { return std::ldexp(1.0, -8 * slice - 7); }
double half_unit(int order) { return std::ldexp(1.0, 12 - 8 * order - 14); }  // of the upper half of a sum

// sums[o] has the upper halves of order o and the lower ones of order o - 1, exact for kMostExact of K; the last one
// the lower halves of order 3 and all of orders 4 and 5.
using Sums = std::vector<View>;
using Slices = std::vector<View>;  // bfloat16 [128, tiles, x]

struct Operand {
  Source high, low;
};

class DoubleGemm {
 public:
  DoubleGemm(Kernel& k, const DoubleGemmConfig& c) : k_(k), c_(c) {
    const auto input = [&](const char* name, bool turned, std::int64_t rows, std::int64_t columns) {
      return k.input(name, turned ? Shape{columns, rows} : Shape{rows, columns}, f32);
    };
    a_ = {{input("a0", c.trans_a, c.m, c.k), c.trans_a}, {input("a1", c.trans_a, c.m, c.k), c.trans_a}};
    b_ = {{input("b0", c.trans_b, c.k, c.n), !c.trans_b}, {input("b1", c.trans_b, c.k, c.n), !c.trans_b}};
    high_ = k.output("c0", {c.m, c.n}, f32), low_ = k.output("c1", {c.m, c.n}, f32);
    const Arch& chip = arch(k.program().target);
    const std::int64_t panel = kSlices * tiles_of(c.k, kTile) * kWide * 2, others = 48 * kWide * 4;
    resident_ = panel + others <= chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes;
  }

  void run() {
    k_.tiles(c_.n, kWide, [&](Index n0, std::int64_t n) {
      Slices panel;
      if (resident_) {
        panel = slices(c_.k, n);
        for_chunks({0, c_.k}, [&](const Index& k0, const Index& tile, std::int64_t rows, bool) {
          cut(part(panel, tile, rows), b_, k0, rows, n0, n);
        });
      }
      k_.tiles(c_.m, kTile, [&](Index m0, std::int64_t m) { block(m0, m, n0, n, panel); });
    });
  }

 private:
  // For a part of K: body(first row, first tile, rows, whether it is the first)
  void for_chunks(const Piece& p, const std::function<void(const Index&, const Index&, std::int64_t, bool)>& body) {
    const std::int64_t whole = p.size / kChunk, tiles = kChunk / kTile, tile = p.start / kTile;
    body(p.start, tile, std::min(p.size, kChunk), true);
    if (whole > 1) k_.loop(1, whole, 1, [&](Index i) { body(i * kChunk + p.start, i * tiles + tile, kChunk, false); });
    if (whole > 0 && p.size % kChunk) body(p.start + whole * kChunk, tile + whole * tiles, p.size % kChunk, false);
  }

  Slices slices(std::int64_t rows, std::int64_t x) {
    Slices s;
    for (int i = 0; i < kSlices; ++i) s.push_back(chunk_tile(k_, rows, x, DType::bfloat16));
    return s;
  }
  static Slices part(const Slices& panel, const Index& tile, std::int64_t rows) {
    Slices s;
    for (const View& v : panel) s.push_back(v(all, ds(tile, tiles_of(rows, kTile))));
    return s;
  }

  // Loads a chunk of an operand and cuts it into slices.
  void cut(const Slices& to, const Operand& from, const Index& k0, std::int64_t rows, const Index& x0, std::int64_t x) {
    const View high = chunk_tile(k_, rows, x, f32), low = chunk_tile(k_, rows, x, f32);
    load_chunk(k_, high, from.high, k0, rows, x0, x);
    load_chunk(k_, low, from.low, k0, rows, x0, x);
    const auto piece = [&](const Slice& partitions, const Slice& tiles) {
      const View rest = high(partitions, tiles);
      for (int i = 0; i < kSlices; ++i) {
        if (i == kSlices / 2) apply(rest, rest, low(partitions, tiles), AluOp::add, Engine::vector);
        const View slice = to[i](partitions, tiles);
        round(slice, rest, kMagic * slice_unit(i));
        if (i + 1 < kSlices) apply(rest, rest, slice, AluOp::subtract, Engine::gpsimd);
      }
    };
    if (rows / kTile > 0) piece(all, ds(0, rows / kTile));
    if (rows % kTile) piece(ds(0, rows % kTile), ds(rows / kTile, 1));
  }

  void apply(const View& to, const View& x, const View& y, AluOp op, Engine engine) {
    k_.tensor_tensor({.dst = to, .data1 = x, .data2 = y, .op = op, .engine = engine});
  }
  void round(const View& to, const View& x, double magic) {
    k_.tensor_scalar({.dst = to,
                      .data = x,
                      .op0 = AluOp::add,
                      .operand0 = magic,
                      .op1 = AluOp::subtract,
                      .operand1 = magic,
                      .engine = Engine::vector});
  }

  void block(const Index& m0, std::int64_t m, const Index& n0, std::int64_t n, const Slices& panel) {
    View high, low;
    for (const Piece& p : whole_pieces(c_.k, kMostExact)) {
      Sums sums;
      for (int o = 0; o <= kExact; ++o) sums.push_back(k_.sbuf({m, n}, f32));
      for_chunks(p, [&](const Index& k0, const Index& first, std::int64_t rows, bool is_first) {
        const Slices a = slices(rows, m);
        cut(a, a_, k0, rows, m0, m);
        Slices b = resident_ ? part(panel, first, rows) : slices(rows, n);
        if (!resident_) cut(b, b_, k0, rows, n0, n);
        multiply(sums, a, b, m, n, rows, is_first);
      });
      add_up(sums, high, low, p.start == 0);
    }
    store(high, low, m0, m, n0, n);
  }

  View bank(std::int64_t m, std::int64_t n) { return k_.psum({kTile, kWide}, f32)(ds(0, m), ds(0, n)); }

  void add_products(const View& sum, const Slices& a, const Slices& b, int order, std::int64_t rows) {
    const auto step = [&](const Index& t, std::int64_t height) {
      for (int i = 0; i <= order; ++i)
        k_.nc_matmul({.dst = sum, .stationary = a[i](ds(0, height), t), .moving = b[order - i](ds(0, height), t)});
    };
    if (rows / kTile > 0) k_.loop(rows / kTile, [&](Index t) { step(t, kTile); });
    if (rows % kTile) step(rows / kTile, rows % kTile);
  }

  void multiply(const Sums& sums, const Slices& a, const Slices& b, std::int64_t m, std::int64_t n, std::int64_t rows,
                bool is_first) {
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
    for (int o = kExact; o < kSlices; ++o) add_products(plain, a, b, o, rows);
    apply(sums[kExact], sums[kExact], plain, AluOp::add, Engine::vector);
  }

  // Adds the sums of a part of K to the result, large ones first.
  void add_up(const Sums& sums, View& high, View& low, bool is_first) {
    apply(sums[kExact - 1], sums[kExact - 1], sums[kExact], AluOp::add, Engine::vector);
    if (is_first) {
      low = k_.sbuf(sums[0].shape(), f32);
      k_.memset({.dst = low, .value = 0.0});
      high = sums[0];
    } else {
      high = two_sum(high, sums[0], low);
    }
    for (int o = 1; o < kExact; ++o) high = two_sum(high, sums[o], low);
  }

  // The two parts of the result.
  void store(const View& high, const View& low, const Index& m0, std::int64_t m, const Index& n0, std::int64_t n) {
    const View total = k_.sbuf({m, n}, f32), rest = k_.sbuf({m, n}, f32);
    apply(total, high, low, AluOp::add, Engine::vector);
    apply(rest, total, high, AluOp::subtract, Engine::vector);
    apply(rest, low, rest, AluOp::subtract, Engine::vector);
    k_.dma_copy({.dst = high_(ds(m0, m), ds(n0, n)), .src = total});
    k_.dma_copy({.dst = low_(ds(m0, m), ds(n0, n)), .src = rest});
  }

  // x + y; what that loses is added to `lost`.
  View two_sum(const View& x, const View& y, const View& lost) {
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

  Kernel& k_;
  const DoubleGemmConfig& c_;
  Operand a_, b_;
  View high_, low_;
  bool resident_;
};

}  // namespace

Program double_gemm(const DoubleGemmConfig& config, Target target) {
  require_sizes("double_gemm", {config.m, config.n, config.k});
  Kernel k("double_gemm", target);
  DoubleGemm(k, config).run();
  return k.finish();
}

}  // namespace kiln::kernels
