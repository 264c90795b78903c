#include "kernels/fft/pointwise.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/row_blocks.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kWidth = 1024;  // complex numbers of a partition at once

View part(const View& x, int i) { return x(all, all, ds(i, 1)).squeeze_dim(2); }

// out = a t, all [partitions, 2 w] in SBUF.
void multiply(Kernel& k, const View& out, const View& a, const View& t) {
  const std::int64_t w = a.dim(1) / 2;
  const auto pairs = [&](const View& v) { return v.reshape_dim(1, {w, 2}); };
  const View x = pairs(a), y = pairs(t), z = pairs(out);
  const auto times = [&](int i, int j, Engine engine) {
    const View to = k.sbuf({a.dim(0), w}, f32);
    k.tensor_tensor({.dst = to, .data1 = part(x, i), .data2 = part(y, j), .op = AluOp::multiply, .engine = engine});
    return to;
  };
  const auto join = [&](int i, const View& one, const View& two, AluOp op, Engine engine) {
    k.tensor_tensor({.dst = part(z, i), .data1 = one, .data2 = two, .op = op, .engine = engine});
  };
  const View rr = times(0, 0, Engine::vector), ii = times(1, 1, Engine::gpsimd);
  const View ri = times(0, 1, Engine::vector), ir = times(1, 0, Engine::gpsimd);
  join(0, rr, ii, AluOp::subtract, Engine::vector);
  join(1, ri, ir, AluOp::add, Engine::gpsimd);
}

// out = a t with real a: [partitions, w] times [partitions, 2 w].
void multiply_real(Kernel& k, const View& out, const View& a, const View& t) {
  const std::int64_t w = a.dim(1);
  k.tensor_tensor({.dst = out.reshape_dim(1, {w, 2}),
                   .data1 = a.expand_dim(2).broadcast(2, 2),
                   .data2 = t.reshape_dim(1, {w, 2}),
                   .op = AluOp::multiply,
                   .engine = Engine::vector});
}

// The real parts of a t.
void multiply_to_real(Kernel& k, const View& out, const View& a, const View& t) {
  const std::int64_t w = out.dim(1);
  const View both = k.sbuf({a.dim(0), w, 2}, f32);
  const auto pairs = [&](const View& v) { return v.reshape_dim(1, {w, 2}); };
  k.tensor_tensor({.dst = both, .data1 = pairs(a), .data2 = pairs(t), .op = AluOp::multiply, .engine = Engine::vector});
  k.tensor_tensor(
      {.dst = out, .data1 = part(both, 0), .data2 = part(both, 1), .op = AluOp::subtract, .engine = Engine::gpsimd});
}

// Real numbers of one number of x, of y and of the table.
std::int64_t x_size(RealRows real) { return real == RealRows::x || real == RealRows::all ? 1 : 2; }
std::int64_t y_size(RealRows real) { return real == RealRows::y || real == RealRows::all ? 1 : 2; }
std::int64_t table_size(RealRows real) { return real == RealRows::all ? 1 : 2; }

// A block of rows times the table.
void piece(Kernel& k, const RowBlock& b, const View& x, const View& y, const View& t, RealRows real) {
  const auto tile = [&](std::int64_t size) { return k.sbuf({b.partitions(), size * b.width}, f32); };
  const View a = tile(x_size(real)), table = tile(table_size(real)), out = tile(y_size(real));
  k.dma_copy({.dst = a, .src = b.places(x, x_size(real))});
  k.dma_copy({.dst = table, .src = b.places(t, table_size(real), 0, 0, b.first)});
  if (real == RealRows::all)
    k.tensor_tensor({.dst = out, .data1 = a, .data2 = table, .op = AluOp::multiply, .engine = Engine::vector});
  else
    (real == RealRows::none ? multiply : real == RealRows::x ? multiply_real : multiply_to_real)(k, out, a, table);
  k.dma_copy({.dst = b.places(y, y_size(real)), .src = out});
}

}  // namespace

void clear_rows(Kernel& k, const View& y, std::int64_t from) {
  const std::int64_t left = y.dim(1) - from;
  if (left <= 0) return;
  const std::int64_t width = std::min<std::int64_t>(left, 2 * kWidth);
  const View zero = k.sbuf({kTile, width}, f32);
  k.memset({.dst = zero, .value = 0.0});
  k.tiles(y.dim(0), kTile, [&](Index row, std::int64_t rows) {
    k.tiles(left, width, [&](Index i, std::int64_t w) {
      k.dma_copy({.dst = y(ds(row, rows), ds(i + from, w)), .src = zero(ds(0, rows), ds(0, w))});
    });
  });
}

void multiply_numbers(Kernel& k, const View& x, const View& y, const View& table, RealRows real, const Piece& numbers) {
  row_blocks(k, y.dim(0), numbers.start, numbers.size, kWidth,
             [&](const RowBlock& b) { piece(k, b, x, y, table, real); });
}

void multiply_rows(Kernel& k, const View& x, const View& y, const View& table, RealRows real) {
  const std::int64_t count = table.dim(1) / table_size(real);
  multiply_numbers(k, x, y, table, real, {0, count});
  clear_rows(k, y, y_size(real) * count);
}

}  // namespace kiln::kernels
