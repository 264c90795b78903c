// Steps of a public optimisation trace of attention with a small head on trn1: float32 in and out, products
// in bfloat16, rows of the scores in pieces of 128. Queries and keys are transposed while they are loaded.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

constexpr std::int64_t kHead = 64, kQuarter = 32;

class SmallHead {
 public:
  SmallHead(Kernel& k, const Params& p)
      : k_(k), move_(k, p), step_(p.number("step")), n_(p.number("seq")), tiles_(n_ / kTile) {
    for (const char* name : {"q", "k", "v"}) in_.push_back(k.input(name, {n_, kHead}, kF32));
    out_ = k.output("out", {n_, kHead}, kF32);
  }

  void make() {
    values_ = k_.sbuf({kTile, tiles_, kHead}, kBf16);
    queries_ = k_.sbuf({kHead, n_}, kBf16);
    keys_ = k_.sbuf({kHead, n_}, kBf16);
    k_.loop(tiles_, [&](Index i) { move_.load(values_(all, i, all), in_[2](ds(i * kTile, kTile), all)); });
    k_.loop(tiles_, [&](Index i) {
      load_turned(queries_, in_[0], i, 0.125);
      load_turned(keys_, in_[1], i, 1.0);
    });
    k_.loop(tiles_, [&](Index i) {
      const View scores = k_.sbuf({kTile, n_}, late() ? kBf16 : kF32);
      const View lowest = product(scores, i), total = column(), inverse = column();
      const View weights = softmax(scores, lowest, total);
      k_.reciprocal({.dst = inverse, .data = total});
      const View turned = transpose(weights);
      late() ? weigh(turned, inverse, i) : weigh_turned(turned, inverse, i);
    });
  }

 private:
  bool late() const { return step_ >= 5; }
  View column() { return k_.sbuf({kTile, 1}, kF32); }

  void load_turned(const View& dst, const View& from, const Index& i, double scale) {
    const View rows = k_.sbuf({kTile, kHead}, kBf16), bank = k_.psum({kHead, kTile}, kBf16);
    move_.load(rows, from(ds(i * kTile, kTile), all));
    k_.nc_transpose({.dst = bank, .data = rows});
    k_.activation({.dst = dst(all, ds(i * kTile, kTile)), .op = ActFn::copy, .data = bank, .scale = scale});
  }

  // The scores of a query tile, and the negative of their maximum.
  View product(const View& scores, const Index& i) {
    const View maxima = k_.sbuf({kTile, tiles_}, kF32), lowest = column();
    k_.loop(tiles_, [&](Index j) {
      const Slice part = ds(j * kTile, kTile);
      const View sum = k_.psum({kTile, kTile}, kF32);
      k_.nc_matmul({.dst = sum, .stationary = queries_(all, ds(i * kTile, kTile)), .moving = keys_(all, part)});
      k_.activation({.dst = scores(all, part), .op = ActFn::copy, .data = sum});
      k_.tensor_reduce(
          {.dst = maxima(all, ds(j, 1)), .op = AluOp::maximum, .data = scores(all, part), .axis = {1}, .negate = true});
    });
    k_.tensor_reduce({.dst = lowest, .op = AluOp::minimum, .data = maxima, .axis = {1}});
    return lowest;
  }

  // From step 2 on the scalar engine adds up while it computes; steps 0 and 3 convert in a pass of their own.
  View softmax(const View& scores, const View& lowest, const View& total) {
    const bool converts = step_ == 0 || step_ == 3;
    const View e = k_.sbuf({kTile, n_}, converts ? kF32 : kBf16);
    activation_args args{.dst = e, .op = ActFn::exp, .data = scores, .bias = lowest};
    if (step_ > 0) {
      args.reduce_op = AluOp::add;
      args.reduce_cmd = ReduceCmd::reset_reduce;
      args.reduce_res = total;
    }
    k_.activation(args);
    if (step_ == 0) k_.tensor_reduce({.dst = total, .op = AluOp::add, .data = e, .axis = {1}});
    if (!converts) return e;
    const View weights = k_.sbuf({kTile, n_}, kBf16);
    k_.tensor_copy({.dst = weights, .src = e});
    return weights;
  }

  View transpose(const View& weights) {
    const View turned = k_.sbuf({kTile, tiles_, kTile}, kBf16);
    k_.loop(tiles_, [&](Index j) {
      const View bank = k_.psum({kTile, kTile}, kBf16);
      k_.nc_transpose({.dst = bank, .data = weights(all, ds(j * kTile, kTile))});
      k_.tensor_copy({.dst = turned(all, j, all), .src = bank});
    });
    return turned;
  }

  void weigh(const View& turned, const View& inverse, const Index& i) {
    const View sum = k_.psum({kTile, kHead}, kF32), result = k_.sbuf({kTile, kHead}, kF32);
    k_.loop(tiles_, [&](Index j) {
      k_.nc_matmul({.dst = sum, .stationary = turned(all, j, all), .moving = values_(all, j, all)});
    });
    k_.tensor_scalar({.dst = result, .data = sum, .op0 = AluOp::multiply, .operand0 = inverse});
    move_.store(out_(ds(i * kTile, kTile), all), result);
  }

  // The result comes transposed; the store turns it, element by element.
  void weigh_turned(const View& turned, const View& inverse, const Index& i) {
    const View sum = k_.psum({kHead, kTile}, kF32), copy = k_.sbuf({kHead, kTile}, kF32);
    const View result = k_.sbuf({kHead, kTile}, kF32), wide = k_.sbuf({kTile, kHead}, kF32);
    k_.loop(tiles_, [&](Index j) {
      k_.nc_matmul({.dst = sum, .stationary = values_(all, j, all), .moving = turned(all, j, all)});
    });
    k_.tensor_copy({.dst = wide, .src = inverse.broadcast(1, kHead)});
    k_.activation({.dst = copy, .op = ActFn::copy, .data = sum});
    View divisor;
    if (step_ == 3) {
      divisor = k_.sbuf({kHead, kTile}, kF32);
      for (std::int64_t a = 0; a < kTile; a += kQuarter) {
        for (std::int64_t b = 0; b < kHead; b += kQuarter)
          k_.nc_transpose({.dst = divisor(ds(b, kQuarter), ds(a, kQuarter)),
                           .data = wide(ds(a, kQuarter), ds(b, kQuarter)),
                           .engine = Engine::vector});
      }
    } else {
      divisor = k_.psum({kHead, kTile}, kF32);
      k_.nc_transpose({.dst = divisor, .data = wide});
    }
    k_.tensor_tensor({.dst = result, .data1 = copy, .data2 = divisor, .op = AluOp::multiply});
    move_.store(out_(ds(i * kTile, kTile), all).permute({1, 0}), result);
  }

  Kernel& k_;
  Mover move_;
  std::int64_t step_, n_, tiles_;
  std::vector<View> in_;
  View out_, values_, queries_, keys_;
};

}  // namespace

const KernelTable& small_head_kernels() {
  static const KernelTable table = {
      {"small_head_attention", [](Kernel& k, const Params& p) { SmallHead(k, p).make(); }}};
  return table;
}

}  // namespace kiln::bench
