// A public suite of float32 kernels as the older compiler printed them: products whose left operand is
// transposed on the tensor engine, normalisation before and after a product, an optimiser step. Where the
// published bytes show that the compiler loaded an operand again or spilled one, the kernel here does the
// same.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

constexpr std::int64_t kBlock = 1024;

// PSUM is emptied by the scalar engine, as the published shares of the engines show.
void empty(Kernel& k, const View& dst, const View& src) { k.activation({.dst = dst, .op = ActFn::copy, .data = src}); }

View load_identity(Kernel& k, Mover& move) {
  const View identity = k.sbuf({kTile, kTile}, kF32);
  move.load(identity, k.input("identity", {kTile, kTile}, kF32));
  return identity;
}

// A product with an identity whose elements are known to be 0 and 1.
void turn(Kernel& k, const View& dst, const View& src, const View& identity) {
  const View bank = k.psum({src.dim(1), kTile}, kF32);
  k.nc_matmul({.dst = bank, .stationary = src, .moving = identity, .is_moving_onezero = true});
  empty(k, dst, bank);
}

void add_up(Kernel& k, const View& sum, const View& stationary, const View& moving) {
  k.nc_matmul({.dst = sum, .stationary = stationary, .moving = moving});
}

// lhs is given row by row. The right block does not stay in SBUF: it is loaded again for every row tile.
void turned_matmul(Kernel& k, const Params& p) {
  const std::int64_t m = p.number("m"), depth = p.number("k"), n = p.number("n");
  const std::int64_t blocks = depth / kBlock, steps = kBlock / kTile;
  Mover move(k, p);
  const View lhs = k.input("lhs", {m, depth}, kF32), rhs = k.input("rhs", {depth, n}, kF32);
  const View out = k.output("out", {m, n}, kF32), identity = load_identity(k, move);
  k.loop(n / kBlock, [&](Index c) {
    k.loop(m / kTile, [&](Index r) {
      const View turned = k.sbuf({kTile, blocks, steps, kTile}, kF32), result = k.sbuf({kTile, kBlock}, kF32);
      k.loop(blocks, [&](Index b) {
        const View rows = k.sbuf({kTile, kBlock}, kF32);
        move.load(rows, lhs(ds(r * kTile, kTile), ds(b * kBlock, kBlock)));
        k.loop(steps, [&](Index s) { turn(k, turned(all, b, s, all), rows(all, ds(s * kTile, kTile)), identity); });
      });
      const View sums = k.psum({kTile, 2, kWide}, kF32);
      k.loop(blocks, [&](Index b) {
        k.loop(steps, [&](Index s) {
          const View right = k.sbuf({kTile, kBlock}, kF32);
          move.load(right, rhs(ds((b * steps + s) * kTile, kTile), ds(c * kBlock, kBlock)));
          for (std::int64_t h = 0; h < 2; ++h)
            add_up(k, sums(all, h, all), turned(all, b, s, all), right(all, ds(h * kWide, kWide)));
        });
      });
      for (std::int64_t h = 0; h < 2; ++h) empty(k, result(all, ds(h * kWide, kWide)), sums(all, h, all));
      move.store(out(ds(r * kTile, kTile), ds(c * kBlock, kBlock)), result);
    });
  });
}

// lhs comes transposed, four blocks of its rows stay in SBUF.
void transposed_matmul(Kernel& k, const Params& p) {
  const std::int64_t m = p.number("m"), depth = p.number("k"), n = p.number("n"), steps = depth / kTile;
  Mover move(k, p);
  const View lhs = k.input("lhs", {kTile, steps, m}, kF32), rhs = k.input("rhs", {kTile, steps, n}, kF32);
  const View out = k.output("out", {m, n}, kF32);
  k.loop(m / kBlock, [&](Index rows) {
    const View left = k.sbuf({kTile, steps, kBlock}, kF32);
    k.loop(steps, [&](Index i) { move.load(left(all, i, all), lhs(all, i, ds(rows * kBlock, kBlock))); });
    k.tiles(n, kBlock, [&](Index begin, std::int64_t width) {
      const View right = k.sbuf({kTile, steps, width}, kF32);
      k.loop(steps, [&](Index i) { move.load(right(all, i, all), rhs(all, i, ds(begin, width))); });
      k.loop(kBlock / kTile, [&](Index r) {
        const View result = k.sbuf({kTile, width}, kF32);
        for (std::int64_t at = 0; at < width; at += kWide) {
          const std::int64_t part = std::min(kWide, width - at);
          const View sum = k.psum({kTile, part}, kF32);
          k.loop(steps,
                 [&](Index i) { add_up(k, sum, left(all, i, ds(r * kTile, kTile)), right(all, i, ds(at, part))); });
          empty(k, result(all, ds(at, part)), sum);
        }
        move.store(out(ds(rows * kBlock + r * kTile, kTile), ds(begin, width)), result);
      });
    });
  });
}

void batched_matmul(Kernel& k, const Params& p) {
  constexpr std::int64_t kDepth = 64;
  const std::int64_t batch = p.number("batch"), m = p.number("m"), n = p.number("n");
  Mover move(k, p);
  const View lhs = k.input("lhs", {batch, m, kDepth}, kF32), rhs = k.input("rhs", {batch, kDepth, n}, kF32);
  const View out = k.output("out", {batch, m, n}, kF32), identity = load_identity(k, move);
  k.loop(batch, [&](Index b) {
    k.loop(n / kBlock, [&](Index c) {
      const View right = k.sbuf({kDepth, kBlock}, kF32);
      move.load(right, rhs(b, all, ds(c * kBlock, kBlock)));
      k.loop(m / kTile, [&](Index r) {
        const View rows = k.sbuf({kTile, kDepth}, kF32), turned = k.sbuf({kDepth, kTile}, kF32);
        const View result = k.sbuf({kTile, kBlock}, kF32);
        move.load(rows, lhs(b, ds(r * kTile, kTile), all));
        turn(k, turned, rows, identity);
        for (std::int64_t h = 0; h < 2; ++h) {
          const View sum = k.psum({kTile, kWide}, kF32);
          add_up(k, sum, turned, right(all, ds(h * kWide, kWide)));
          empty(k, result(all, ds(h * kWide, kWide)), sum);
        }
        move.store(out(b, ds(r * kTile, kTile), ds(c * kBlock, kBlock)), result);
      });
    });
  });
}

// Constants are multiplied and added by the scalar engine, which also takes the root and the reciprocal: the
// published share of the vector engine leaves room for the products and sums of two tiles only.
class Adam {
 public:
  Adam(Kernel& k, const Params& p) : k_(k), move_(k, p), rows_(p.number("m")), columns_(p.number("n")) {
    for (const char* name : {"theta", "m", "v", "g"}) in_.push_back(k.input(name, {rows_, columns_}, kF32));
    out_ = k.output("out", {rows_, columns_}, kF32);
  }
  void make() {
    k_.tiles(rows_, kTile, [&](Index row, std::int64_t height) {
      k_.loop(columns_ / kBlock, [&](Index c) {
        height_ = height;
        std::vector<View> tile;
        for (const View& in : in_) {
          tile.push_back(k_.sbuf({height, kBlock}, kF32));
          move_.load(tile.back(), in(ds(row, height), ds(c * kBlock, kBlock)));
        }
        const View result = k_.sbuf({height, kBlock}, kF32);
        for (std::int64_t h = 0; h < 2; ++h) {
          const Slice half = ds(h * kWide, kWide);
          step(result(all, half), tile[0](all, half), tile[1](all, half), tile[2](all, half), tile[3](all, half));
        }
        move_.store(out_(ds(row, height), ds(c * kBlock, kBlock)), result);
      });
    });
  }

 private:
  View tile() { return k_.sbuf({height_, kWide}, kF32); }
  View function(ActFn op, const View& x, double scale) {
    const View r = tile();
    k_.activation({.dst = r, .op = op, .data = x, .scale = scale});
    return r;
  }
  View scaled(const View& x, double factor) { return function(ActFn::copy, x, factor); }
  View both(const View& a, const View& b, AluOp op) {
    const View r = tile();
    k_.tensor_tensor({.dst = r, .data1 = a, .data2 = b, .op = op});
    return r;
  }
  void step(const View& dst, const View& theta, const View& m, const View& v, const View& g) {
    const View decayed = both(theta, scaled(theta, 1e-5), AluOp::subtract);
    const View mean = both(scaled(m, 0.9), scaled(g, 0.1), AluOp::add), rate = scaled(mean, 0.01);
    const View squared = both(scaled(g, 0.001), g, AluOp::multiply);
    const View variance = both(scaled(v, 0.999), squared, AluOp::add);
    const View root = function(ActFn::sqrt, variance, 1000.0), safe = scaled(root, 1.0);
    const View change = both(rate, function(ActFn::reciprocal, safe, 1.0), AluOp::multiply);
    k_.tensor_tensor({.dst = dst, .data1 = decayed, .data2 = change, .op = AluOp::subtract});
  }

  Kernel& k_;
  Mover move_;
  std::int64_t rows_, columns_, height_ = kTile;
  std::vector<View> in_;
  View out_;
};

// RMS normalisation of a sum of two inputs in front of a product (first=norm) or behind it (first=product).
// The left operand is transposed for every block of columns, as the kernel says; the weights stay in SBUF.
class NormProduct {
 public:
  NormProduct(Kernel& k, const Params& p)
      : k_(k),
        move_(k, p),
        m_(p.number("m")),
        depth_(p.number("k")),
        n_(p.number("n")),
        norm_first_(p.text("first") == "norm") {
    x_ = k.input("x", {m_, depth_}, kF32);
    w_ = k.input("w", {depth_, n_}, kF32);
    z_ = k.input("z", {m_, norm_first_ ? depth_ : n_}, kF32);
    g_ = k.input("g", {1, norm_first_ ? depth_ : n_}, kF32);
    out_ = k.output("out", {m_, n_}, kF32);
  }
  void make() {
    const View ones = k_.sbuf({1, kTile}, kF32), gain = k_.sbuf({1, g_.dim(1)}, kF32);
    weights_ = k_.sbuf({kTile, depth_ / kTile, n_}, kF32);
    k_.memset({.dst = ones, .value = 1.0});
    move_.load(gain, g_);
    const View spread = spread_row(k_, ones, gain);
    k_.loop(n_ / kWide, [&](Index c) {
      k_.loop(depth_ / kTile, [&](Index i) {
        move_.load(weights_(all, i, ds(c * kWide, kWide)), w_(ds(i * kTile, kTile), ds(c * kWide, kWide)));
      });
    });
    k_.loop(m_ / kTile, [&](Index r) {
      const Slice rows = ds(r * kTile, kTile);
      const View x = load(x_, rows);
      if (norm_first_) {
        const View scaled = norm(x, load(z_, rows), spread);
        product(scaled, [&](const View& sum, const Index& c) {
          const View result = k_.sbuf({kTile, kWide}, kF32);
          empty(k_, result, sum);
          move_.store(out_(rows, ds(c * kWide, kWide)), result);
        });
      } else {
        const View all_columns = k_.sbuf({kTile, n_}, kF32);
        product(x, [&](const View& sum, const Index& c) { empty(k_, all_columns(all, ds(c * kWide, kWide)), sum); });
        move_.store(out_(rows, all), norm(all_columns, load(z_, rows), spread));
      }
    });
  }

 private:
  View load(const View& from, const Slice& rows) {
    const View tile = k_.sbuf({kTile, from.dim(1)}, kF32);
    move_.load(tile, from(rows, all));
    return tile;
  }
  void product(const View& left, const std::function<void(const View&, const Index&)>& finish) {
    k_.loop(n_ / kWide, [&](Index c) {
      const View sum = k_.psum({kTile, kWide}, kF32);
      k_.loop(depth_ / kTile, [&](Index i) {
        const View bank = k_.psum({kTile, kTile}, kF32), turned = k_.sbuf({kTile, kTile}, kF32);
        k_.nc_transpose({.dst = bank, .data = left(all, ds(i * kTile, kTile))});
        empty(k_, turned, bank);
        add_up(k_, sum, turned, weights_(all, i, ds(c * kWide, kWide)));
      });
      finish(sum, c);
    });
  }
  View norm(const View& x, const View& z, const View& gain) {
    const std::int64_t n = x.dim(1);
    const auto tile = [&] { return k_.sbuf({kTile, n}, kF32); };
    const View sum = tile(), squares = tile(), scaled = tile(), out = tile();
    const View total = k_.sbuf({kTile, 1}, kF32), mean = k_.sbuf({kTile, 1}, kF32), root = k_.sbuf({kTile, 1}, kF32);
    k_.tensor_tensor({.dst = sum, .data1 = x, .data2 = z, .op = AluOp::add});
    k_.activation({.dst = squares, .op = ActFn::square, .data = sum});
    k_.tensor_reduce({.dst = total, .op = AluOp::add, .data = squares, .axis = {1}});
    k_.tensor_scalar({.dst = mean,
                      .data = total,
                      .op0 = AluOp::multiply,
                      .operand0 = 1.0 / static_cast<double>(n),
                      .op1 = AluOp::add,
                      .operand1 = 1e-6});
    k_.activation({.dst = root, .op = ActFn::rsqrt, .data = mean});
    k_.activation({.dst = scaled, .op = ActFn::copy, .data = sum, .scale = root});
    k_.tensor_tensor({.dst = out, .data1 = scaled, .data2 = gain, .op = AluOp::multiply});
    return out;
  }

  Kernel& k_;
  Mover move_;
  std::int64_t m_, depth_, n_;
  bool norm_first_;
  View x_, w_, z_, g_, out_, weights_;
};

}  // namespace

const KernelTable& suite_kernels() {
  static const KernelTable table = {
      {"turned_matmul", turned_matmul},
      {"transposed_matmul", transposed_matmul},
      {"batched_matmul", batched_matmul},
      {"adam", [](Kernel& k, const Params& p) { Adam(k, p).make(); }},
      {"norm_product", [](Kernel& k, const Params& p) { NormProduct(k, p).make(); }},
  };
  return table;
}

}  // namespace kiln::bench
