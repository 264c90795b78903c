// Two kernels of the same suite whose intermediate results do not fit into SBUF, so that the compiler keeps
// them in HBM: a gated layer, and attention of 16 heads on 8 pairs of keys and values.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

constexpr std::int64_t kBlock = 1024, kSteps = kBlock / kTile, kGroup = kWide / kTile;

class Spills {
 protected:
  Spills(Kernel& k, const Params& p) : k_(k), move_(k, p) {
    identity_ = k.sbuf({kTile, kTile}, kF32);
    move_.load(identity_, k.input("identity", {kTile, kTile}, kF32));
  }
  View tile(std::int64_t n) { return k_.sbuf({kTile, n}, kF32); }
  void empty(const View& dst, const View& src) { k_.activation({.dst = dst, .op = ActFn::copy, .data = src}); }
  void turn(const View& dst, const View& src) {
    const View bank = k_.psum({kTile, kTile}, kF32);
    k_.nc_matmul({.dst = bank, .stationary = src, .moving = identity_, .is_moving_onezero = true});
    empty(dst, bank);
  }
  Kernel& k_;
  Mover move_;
  View identity_;
};

// down(silu(x gate) * (x up)): the gate's results and the product go to HBM and back.
class Gated : Spills {
 public:
  Gated(Kernel& k, const Params& p) : Spills(k, p), m_(p.number("m")), depth_(p.number("k")), n_(p.number("n")) {
    x_ = k.input("x", {m_, depth_}, kF32);
    gate_ = k.input("gate", {depth_, n_}, kF32);
    up_ = k.input("up", {depth_, n_}, kF32);
    down_ = k.input("down", {n_, depth_}, kF32);
    out_ = k.output("out", {m_, depth_}, kF32);
  }
  void make() {
    const View gates = k_.hbm({n_, m_}, kF32), products = k_.hbm({n_, m_}, kF32);
    project(gate_, [&](const View& sum, const Index& row, const Index& column) {
      const View result = tile(kWide);
      empty(result, sum);
      move_.store(gates(ds(row, kTile), ds(column, kWide)), result);
    });
    project(up_, [&](const View& sum, const Index& row, const Index& column) {
      const View g = tile(kWide), result = tile(kWide);
      move_.load(g, gates(ds(row, kTile), ds(column, kWide)));
      const View gated = silu(g);
      k_.tensor_tensor({.dst = result, .data1 = gated, .data2 = sum, .op = AluOp::multiply});
      move_.store(products(ds(row, kTile), ds(column, kWide)), result);
    });
    project_down(products);
  }

 private:
  // A block of weights stays in SBUF while all columns of x, transposed, pass.
  void project(const View& weights, const std::function<void(const View&, const Index&, const Index&)>& finish) {
    const std::int64_t steps = depth_ / kTile;
    k_.loop(n_ / kBlock, [&](Index b) {
      const View w = k_.sbuf({kTile, steps, kBlock}, kF32);
      k_.loop(steps,
              [&](Index i) { move_.load(w(all, i, all), weights(ds(i * kTile, kTile), ds(b * kBlock, kBlock))); });
      k_.loop(m_ / kWide, [&](Index c) {
        const View turned = k_.sbuf({kTile, steps, kWide}, kF32);
        k_.loop(kGroup, [&](Index g) {
          const View rows = tile(depth_);
          move_.load(rows, x_(ds(c * kWide + g * kTile, kTile), all));
          k_.loop(steps, [&](Index i) { turn(turned(all, i, ds(g * kTile, kTile)), rows(all, ds(i * kTile, kTile))); });
        });
        k_.loop(kSteps, [&](Index r) {
          const View sum = k_.psum({kTile, kWide}, kF32);
          k_.loop(steps, [&](Index i) {
            k_.nc_matmul({.dst = sum, .stationary = w(all, i, ds(r * kTile, kTile)), .moving = turned(all, i, all)});
          });
          finish(sum, b * kBlock + r * kTile, c * kWide);
        });
      });
    });
  }
  View silu(const View& g) {
    const View e = tile(kWide), one = tile(kWide), inverse = tile(kWide), out = tile(kWide);
    k_.activation({.dst = e, .op = ActFn::exp, .data = g, .scale = -1.0});
    k_.tensor_scalar({.dst = one, .data = e, .op0 = AluOp::add, .operand0 = 1.0});
    k_.activation({.dst = inverse, .op = ActFn::reciprocal, .data = one});
    k_.tensor_tensor({.dst = out, .data1 = g, .data2 = inverse, .op = AluOp::multiply});
    return out;
  }
  void project_down(const View& products) {
    const std::int64_t steps = n_ / kTile;
    const View w = k_.sbuf({kTile, steps, depth_}, kF32);
    k_.loop(steps, [&](Index i) { move_.load(w(all, i, all), down_(ds(i * kTile, kTile), all)); });
    k_.loop(m_ / kWide, [&](Index c) {
      const View left = k_.sbuf({kTile, steps, kWide}, kF32);
      k_.loop(steps,
              [&](Index i) { move_.load(left(all, i, all), products(ds(i * kTile, kTile), ds(c * kWide, kWide))); });
      k_.loop(kGroup, [&](Index r) {
        const View result = tile(depth_);
        k_.loop(depth_ / kWide, [&](Index h) {
          const View sum = k_.psum({kTile, kWide}, kF32);
          k_.loop(steps, [&](Index i) {
            k_.nc_matmul({.dst = sum,
                          .stationary = left(all, i, ds(r * kTile, kTile)),
                          .moving = w(all, i, ds(h * kWide, kWide))});
          });
          empty(result(all, ds(h * kWide, kWide)), sum);
        });
        move_.store(out_(ds(c * kWide + r * kTile, kTile), all), result);
      });
    });
  }
  std::int64_t m_, depth_, n_;
  View x_, gate_, up_, down_, out_;
};

// Two query heads for each pair of keys and values. All scores go to HBM and come back for the softmax.
class Heads : Spills {
 public:
  Heads(Kernel& k, const Params& p)
      : Spills(k, p), n_(p.number("seq")), pairs_(p.number("pairs")), tiles_(n_ / kTile), wide_(n_ / kWide) {
    q_ = k.input("q", {n_, 2 * pairs_ * kTile}, kF32);
    key_ = k.input("k", {n_, pairs_ * kTile}, kF32);
    v_ = k.input("v", {n_, pairs_ * kTile}, kF32);
    out_ = k.output("out", {2 * pairs_, n_, kTile}, kF32);
  }
  void make() {
    const View scores = k_.hbm({2 * pairs_, n_, n_}, kF32);
    maxima_ = k_.sbuf({kTile, 2 * pairs_, tiles_, wide_}, kF32);
    k_.loop(pairs_, [&](Index pair) {
      const View keys = k_.sbuf({kTile, n_}, kF32);
      load_turned(keys, key_, pair);
      for (std::int64_t h = 0; h < 2; ++h) {
        const View queries = k_.sbuf({kTile, n_}, kF32);
        load_turned(queries, q_, pair * 2 + h);
        k_.loop(tiles_, [&](Index i) { product(scores, queries, keys, pair * 2 + h, i); });
      }
    });
    k_.loop(pairs_, [&](Index pair) {
      values_ = k_.sbuf({kTile, tiles_, kTile}, kF32);
      k_.loop(tiles_,
              [&](Index j) { move_.load(values_(all, j, all), v_(ds(j * kTile, kTile), ds(pair * kTile, kTile))); });
      for (std::int64_t h = 0; h < 2; ++h) k_.loop(tiles_, [&](Index i) { weigh(scores, pair * 2 + h, i); });
    });
  }

 private:
  void load_turned(const View& dst, const View& from, const Index& head) {
    k_.loop(tiles_, [&](Index j) {
      const View rows = tile(kTile);
      move_.load(rows, from(ds(j * kTile, kTile), ds(head * kTile, kTile)));
      turn(dst(all, ds(j * kTile, kTile)), rows);
    });
  }
  void product(const View& scores, const View& queries, const View& keys, const Index& head, const Index& i) {
    k_.loop(wide_, [&](Index j) {
      const View sum = k_.psum({kTile, kWide}, kF32), scaled = tile(kWide);
      k_.nc_matmul(
          {.dst = sum, .stationary = queries(all, ds(i * kTile, kTile)), .moving = keys(all, ds(j * kWide, kWide))});
      k_.activation({.dst = scaled, .op = ActFn::copy, .data = sum, .scale = 0.08838834764});
      k_.tensor_reduce({.dst = maxima_(all, head, i, ds(j, 1)), .op = AluOp::maximum, .data = scaled, .axis = {1}});
      move_.store(scores(head, ds(i * kTile, kTile), ds(j * kWide, kWide)), scaled);
    });
  }
  void weigh(const View& scores, const Index& head, const Index& i) {
    const View weights = tile(n_), turned = k_.sbuf({kTile, tiles_, kTile}, kF32), lowest = tile(1);
    const View sums = tile(wide_), total = tile(1), inverse = tile(1), result = tile(kTile);
    const View sum = k_.psum({kTile, kTile}, kF32);
    k_.tensor_reduce(
        {.dst = lowest, .op = AluOp::maximum, .data = maxima_(all, head, i, all), .axis = {1}, .negate = true});
    k_.loop(wide_, [&](Index j) {
      const View part = tile(kWide), e = weights(all, ds(j * kWide, kWide));
      move_.load(part, scores(head, ds(i * kTile, kTile), ds(j * kWide, kWide)));
      k_.activation({.dst = e, .op = ActFn::exp, .data = part, .bias = lowest});
      k_.tensor_reduce({.dst = sums(all, ds(j, 1)), .op = AluOp::add, .data = e, .axis = {1}});
    });
    k_.tensor_reduce({.dst = total, .op = AluOp::add, .data = sums, .axis = {1}});
    k_.reciprocal({.dst = inverse, .data = total});
    k_.loop(wide_, [&](Index j) {
      const View scaled = tile(kWide);
      k_.tensor_scalar(
          {.dst = scaled, .data = weights(all, ds(j * kWide, kWide)), .op0 = AluOp::multiply, .operand0 = inverse});
      k_.loop(kGroup, [&](Index s) { turn(turned(all, j * kGroup + s, all), scaled(all, ds(s * kTile, kTile))); });
    });
    k_.loop(tiles_, [&](Index j) {
      k_.nc_matmul({.dst = sum, .stationary = turned(all, j, all), .moving = values_(all, j, all)});
    });
    empty(result, sum);
    move_.store(out_(head, ds(i * kTile, kTile), all), result);
  }
  std::int64_t n_, pairs_, tiles_, wide_;
  View q_, key_, v_, out_, maxima_, values_;
};

}  // namespace

const KernelTable& spill_kernels() {
  static const KernelTable table = {
      {"gated_layer", [](Kernel& k, const Params& p) { Gated(k, p).make(); }},
      {"heads_attention", [](Kernel& k, const Params& p) { Heads(k, p).make(); }},
  };
  return table;
}

}  // namespace kiln::bench
