// Matrix products: the vendor's tutorial and guide, a public optimisation trace of the same product, a
// library of searched kernels, and a layer (product, bias, GELU).
#include <algorithm>

#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

struct Product {
  Product(Kernel& k, const Params& p)
      : m(p.number("m")), n(p.number("n")), depth(p.number("k")), dtype(dtype_of(p)), move(k, p) {
    lhs = k.input("lhsT", {depth, m}, dtype);
    rhs = k.input("rhs", {depth, n}, dtype);
    out = k.output("result", {m, n}, dtype);
  }
  std::int64_t m, n, depth;
  DType dtype;
  mutable Mover move;
  View lhs, rhs, out;

  View lhs_tile(const Index& i, const Index& row) const { return lhs(ds(i * kTile, kTile), ds(row * kTile, kTile)); }
  View rhs_tile(const Index& i, const Index& col) const { return rhs(ds(i * kTile, kTile), ds(col * kWide, kWide)); }
  View out_tile(const Index& row, const Index& col) const {
    return out(ds(row * kTile, kTile), ds(col * kWide, kWide));
  }
};

void store_sum(Kernel& k, const Product& x, const View& sum, const Index& row, const Index& col) {
  const View result = k.sbuf({kTile, kWide}, x.dtype);
  k.tensor_copy({.dst = result, .src = sum});
  x.move.store(x.out_tile(row, col), result);
}

// Groups of gm x gn tiles of the result; operands are loaded in the innermost loop, tile by tile or (wide) in
// one piece.
void grouped(Kernel& k, const Params& p) {
  const Product x(k, p);
  const std::int64_t gm = p.number("gm", 1), gn = p.number("gn", 1);
  const bool wide = p.number("wide") != 0;
  k.loop(x.m / kTile / gm, [&](Index mg) {
    k.loop(x.n / kWide / gn, [&](Index ng) {
      std::vector<View> sums;
      for (std::int64_t i = 0; i < gm * gn; ++i) sums.push_back(k.psum({kTile, kWide}, kF32));
      k.loop(x.depth / kTile, [&](Index i) {
        std::vector<View> left, right;
        if (wide) {
          const View b = k.sbuf({kTile, gn * kWide}, x.dtype), a = k.sbuf({kTile, gm * kTile}, x.dtype);
          x.move.load(b, x.rhs(ds(i * kTile, kTile), ds(ng * (gn * kWide), gn * kWide)));
          x.move.load(a, x.lhs(ds(i * kTile, kTile), ds(mg * (gm * kTile), gm * kTile)));
          for (std::int64_t c = 0; c < gn; ++c) right.push_back(b(all, ds(c * kWide, kWide)));
          for (std::int64_t r = 0; r < gm; ++r) left.push_back(a(all, ds(r * kTile, kTile)));
        } else {
          for (std::int64_t c = 0; c < gn; ++c) {
            right.push_back(k.sbuf({kTile, kWide}, x.dtype));
            x.move.load(right.back(), x.rhs_tile(i, ng * gn + c));
          }
          for (std::int64_t r = 0; r < gm; ++r) {
            left.push_back(k.sbuf({kTile, kTile}, x.dtype));
            x.move.load(left.back(), x.lhs_tile(i, mg * gm + r));
          }
        }
        for (std::int64_t r = 0; r < gm; ++r) {
          for (std::int64_t c = 0; c < gn; ++c)
            k.nc_matmul({.dst = sums[r * gn + c], .stationary = left[r], .moving = right[c]});
        }
      });
      for (std::int64_t r = 0; r < gm; ++r) {
        for (std::int64_t c = 0; c < gn; ++c) store_sum(k, x, sums[r * gn + c], mg * gm + r, ng * gn + c);
      }
    });
  });
}

// The whole depth of both operands is loaded before, in tiles of their own.
void hoisted(Kernel& k, const Params& p) {
  const Product x(k, p);
  const std::int64_t steps = x.depth / kTile;
  k.loop(x.m / kTile, [&](Index r) {
    std::vector<View> left;
    for (std::int64_t i = 0; i < steps; ++i) {
      left.push_back(k.sbuf({kTile, kTile}, x.dtype));
      x.move.load(left.back(), x.lhs_tile(i, r));
    }
    k.loop(x.n / kWide, [&](Index c) {
      std::vector<View> right;
      for (std::int64_t i = 0; i < steps; ++i) {
        right.push_back(k.sbuf({kTile, kWide}, x.dtype));
        x.move.load(right.back(), x.rhs_tile(i, c));
      }
      const View sum = k.psum({kTile, kWide}, kF32);
      for (std::int64_t i = 0; i < steps; ++i)
        k.nc_matmul({.dst = sum, .stationary = left[i], .moving = right[i], .accumulate = i > 0});
      store_sum(k, x, sum, r, c);
    });
  });
}

// All three dimensions in blocks; sums of a block are added up in SBUF.
void blocked(Kernel& k, const Params& p) {
  const Product x(k, p);
  const std::int64_t bm = p.number("bm", 16), bn = p.number("bn", 2), bk = p.number("bk", 8);
  const std::int64_t m_tiles = x.m / kTile;
  k.loop(x.n / kWide / bn, [&](Index nb) {
    const View result = k.sbuf({kTile, m_tiles, bn * kWide}, x.dtype);
    k.loop(m_tiles, [&](Index r) { k.memset({.dst = result(all, r, all), .value = 0.0}); });
    k.loop(x.depth / kTile / bk, [&](Index kb) {
      const View right = k.sbuf({kTile, bk, bn * kWide}, x.dtype);
      k.loop(bk, [&](Index i) {
        x.move.load(right(all, i, all), x.rhs(ds((kb * bk + i) * kTile, kTile), ds(nb * (bn * kWide), bn * kWide)));
      });
      k.loop(m_tiles / bm, [&](Index mb) {
        const View left = k.sbuf({kTile, bk, bm * kTile}, x.dtype);
        k.loop(bk, [&](Index i) {
          x.move.load(left(all, i, all), x.lhs(ds((kb * bk + i) * kTile, kTile), ds(mb * (bm * kTile), bm * kTile)));
        });
        k.loop(bn, [&](Index c) {
          k.loop(bm, [&](Index r) {
            const View sum = k.psum({kTile, kWide}, kF32);
            k.loop(bk, [&](Index i) {
              k.nc_matmul({.dst = sum,
                           .stationary = left(all, i, ds(r * kTile, kTile)),
                           .moving = right(all, i, ds(c * kWide, kWide))});
            });
            const View part = result(all, mb * bm + r, ds(c * kWide, kWide));
            k.tensor_tensor({.dst = part, .data1 = part, .data2 = sum, .op = AluOp::add});
          });
        });
      });
    });
    k.loop(m_tiles, [&](Index r) {
      x.move.store(x.out(ds(r * kTile, kTile), ds(nb * (bn * kWide), bn * kWide)), result(all, r, all));
    });
  });
}

// The library's hand-written product of 2048 cubed: blocks of 4 x 1 x 8 tiles, buffers in turn.
void library(Kernel& k, const Params& p) {
  const Product x(k, p);
  constexpr std::int64_t kSteps = 8, kRows = 4;
  const std::int64_t m_tiles = x.m / kTile;
  for (std::int64_t nb = 0; nb < x.n / kWide; ++nb) {
    const View result = k.sbuf({kTile, m_tiles, kWide}, x.dtype);
    for (std::int64_t r = 0; r < m_tiles; ++r) k.memset({.dst = result(all, r, all), .value = 0.0});
    for (std::int64_t kb = 0; kb < x.depth / kTile / kSteps; ++kb) {
      const View right = k.sbuf({kTile, kSteps, kWide}, x.dtype);
      for (std::int64_t i = 0; i < kSteps; ++i) x.move.load(right(all, i, all), x.rhs_tile(kb * kSteps + i, nb));
      for (std::int64_t mb = 0; mb < m_tiles / kRows; ++mb) {
        const View left = k.sbuf({kTile, kSteps, kRows * kTile}, x.dtype);
        for (std::int64_t i = 0; i < kSteps; ++i) {
          x.move.load(left(all, i, all),
                      x.lhs(ds((kb * kSteps + i) * kTile, kTile), ds(mb * kRows * kTile, kRows * kTile)));
        }
        for (std::int64_t r = 0; r < kRows; ++r) {
          const View sum = k.psum({kTile, kWide}, kF32), part = k.sbuf({kTile, kWide}, x.dtype);
          for (std::int64_t i = 0; i < kSteps; ++i) {
            k.nc_matmul({.dst = sum,
                         .stationary = left(all, i, ds(r * kTile, kTile)),
                         .moving = right(all, i, all),
                         .accumulate = i > 0});
          }
          k.tensor_copy({.dst = part, .src = sum});
          const View at = result(all, mb * kRows + r, all);
          k.tensor_tensor({.dst = at, .data1 = at, .data2 = part, .op = AluOp::add});
        }
      }
    }
    for (std::int64_t r = 0; r < m_tiles; ++r) x.move.store(x.out_tile(r, nb), result(all, r, all));
  }
}

// Found by a search: all loads, all products in one bank of PSUM, all stores. Operands that come the other
// way round (turn=right, both) are transposed by DMA.
void searched(Kernel& k, const Params& p) {
  const Product x(k, p);
  const std::int64_t steps = x.depth / kTile, rows = x.m / kTile, columns = x.n / kWide;
  const std::string turn = p.text("turn");
  const View left = k.sbuf({kTile, steps, x.m}, x.dtype), right = k.sbuf({kTile, steps, x.n}, x.dtype);
  const View result = k.sbuf({kTile, rows, x.n}, x.dtype), sum = k.psum({kTile, kWide}, kF32);
  const auto load = [&](const View& to, const View& from, std::int64_t width, bool turned) {
    for (std::int64_t i = 0; i < steps; ++i) {
      for (std::int64_t c = 0; c < to.dim(2) / width; ++c) {
        const View tile = to(all, i, ds(c * width, width));
        if (turned) {
          k.dma_transpose(
              {.dst = tile, .src = from(ds(c * width, width), ds(i * kTile, kTile)), .dge_mode = dge_of(p)});
        } else {
          x.move.load(tile, from(ds(i * kTile, kTile), ds(c * width, width)));
        }
      }
    }
  };
  load(left, x.lhs, kTile, turn == "both");
  load(right, x.rhs, kWide, turn == "both" || turn == "right");
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      k.memset({.dst = sum, .value = 0.0});
      for (std::int64_t i = 0; i < steps; ++i)
        k.nc_matmul({.dst = sum,
                     .stationary = left(all, i, ds(r * kTile, kTile)),
                     .moving = right(all, i, ds(c * kWide, kWide)),
                     .accumulate = true});
      k.tensor_copy({.dst = result(all, r, ds(c * kWide, kWide)), .src = sum});
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) x.move.store(x.out_tile(r, c), result(all, r, ds(c * kWide, kWide)));
  }
}

// GELU by its tanh formula, as the kernel's elementwise statements.
void taylor_gelu(Kernel& k, const View& dst, const View& v, DType dtype) {
  const auto tile = [&] { return k.sbuf({kTile, kWide}, dtype); };
  const auto times = [&](const View& a, const View& b) {
    const View r = tile();
    k.tensor_tensor({.dst = r, .data1 = a, .data2 = b, .op = AluOp::multiply});
    return r;
  };
  const auto scalar = [&](const View& a, AluOp op, double value) {
    const View r = tile();
    k.tensor_scalar({.dst = r, .data = a, .op0 = op, .operand0 = value});
    return r;
  };
  const View cubed = times(times(v, v), v), scaled = scalar(cubed, AluOp::multiply, 0.044715), sum = tile();
  k.tensor_tensor({.dst = sum, .data1 = v, .data2 = scaled, .op = AluOp::add});
  const View inner = scalar(sum, AluOp::multiply, 0.7978845608), gate = tile(), both = tile();
  k.activation({.dst = gate, .op = ActFn::sigmoid, .data = inner, .scale = 2.0});
  k.tensor_scalar(
      {.dst = both, .data = gate, .op0 = AluOp::multiply, .operand0 = 2.0, .op1 = AluOp::subtract, .operand1 = 1.0});
  const View plus = scalar(both, AluOp::add, 1.0), half = scalar(v, AluOp::multiply, 0.5);
  k.tensor_tensor({.dst = dst, .data1 = half, .data2 = plus, .op = AluOp::multiply});
}

// A loop whose body stands there twice, so that its loads can take turns.
void by_twos(Kernel& k, std::int64_t count, const std::function<void(const Index&)>& body) {
  if (count > 1) {
    k.loop(count / 2, [&](Index i) {
      body(i * 2);
      body(i * 2 + 1);
    });
  }
  if (count % 2) body(Index(count - 1));
}

// Product, bias and (gelu=pwl, taylor) GELU. The older compiler keeps an operand in SBUF when it fits there:
// the rows of lhsT for all columns always, the whole of rhs up to half of SBUF.
void layer(Kernel& k, const Params& p) {
  const Product x(k, p);
  const std::string gelu = p.text("gelu");
  const std::int64_t steps = x.depth / kTile;
  const View bias = k.input("bias", {1, x.n}, x.dtype);
  const bool keeps = steps * x.n * size_bytes(x.dtype) <= arch(k.program().target).sbuf_partition_bytes * 3 / 4;
  const View ones = k.sbuf({1, kTile}, x.dtype);
  k.memset({.dst = ones, .value = 1.0});
  View kept;
  if (keeps) {
    kept = k.sbuf({kTile, steps, x.n}, x.dtype);
    k.loop(x.n / kWide, [&](Index c) {
      by_twos(k, steps, [&](const Index& i) { x.move.load(kept(all, i, ds(c * kWide, kWide)), x.rhs_tile(i, c)); });
    });
  }
  k.loop(x.m / kTile, [&](Index r) {
    const View left = k.sbuf({kTile, steps, kTile}, x.dtype);
    by_twos(k, steps, [&](const Index& i) { x.move.load(left(all, i, all), x.lhs_tile(i, r)); });
    k.loop(x.n / kWide, [&](Index c) {
      const View sum = k.psum({kTile, kWide}, kF32);
      const auto step = [&](const Index& i) {
        View right;
        if (keeps) {
          right = kept(all, i, ds(c * kWide, kWide));
        } else {
          right = k.sbuf({kTile, kWide}, x.dtype);
          x.move.load(right, x.rhs_tile(i, c));
        }
        k.nc_matmul({.dst = sum, .stationary = left(all, i, all), .moving = right});
      };
      by_twos(k, steps, step);
      const View copy = k.sbuf({kTile, kWide}, x.dtype), row = k.sbuf({1, kWide}, x.dtype);
      const View biased = k.sbuf({kTile, kWide}, x.dtype);
      k.tensor_copy({.dst = copy, .src = sum, .engine = Engine::scalar});
      x.move.load(row, bias(all, ds(c * kWide, kWide)));
      k.tensor_tensor({.dst = biased, .data1 = copy, .data2 = spread_row(k, ones, row), .op = AluOp::add});
      View result = biased;
      if (!gelu.empty()) result = k.sbuf({kTile, kWide}, x.dtype);
      if (gelu == "pwl") k.activation({.dst = result, .op = ActFn::gelu, .data = biased});
      if (gelu == "taylor") taylor_gelu(k, result, biased, x.dtype);
      x.move.store(x.out_tile(r, c), result);
    });
  });
}

void gelu(Kernel& k, const Params& p) {
  const std::int64_t m = p.number("m"), n = p.number("n");
  const DType dtype = dtype_of(p);
  Mover move(k, p);
  const View in = k.input("y", {m, n}, dtype), out = k.output("z", {m, n}, dtype);
  k.loop(m / kTile, [&](Index r) {
    k.loop(n / kWide, [&](Index c) {
      const View tile = k.sbuf({kTile, kWide}, dtype), result = k.sbuf({kTile, kWide}, dtype);
      move.load(tile, in(ds(r * kTile, kTile), ds(c * kWide, kWide)));
      k.activation({.dst = result, .op = ActFn::gelu, .data = tile});
      move.store(out(ds(r * kTile, kTile), ds(c * kWide, kWide)), result);
    });
  });
}

}  // namespace

const KernelTable& matmul_kernels() {
  static const KernelTable table = {{"grouped", grouped}, {"hoisted", hoisted},   {"blocked", blocked},
                                    {"library", library}, {"searched", searched}, {"layer", layer},
                                    {"gelu", gelu}};
  return table;
}

}  // namespace kiln::bench
