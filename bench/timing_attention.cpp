// Attention of one head, in one kernel or in three phases through HBM.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

class Attention {
 public:
  Attention(Kernel& k, const Params& p)
      : k_(k), move_(k, p), n_(p.number("seq")), dtype_(dtype_of(p)), wide_(n_ / kWide), tiles_(n_ / kTile) {
    for (const char* name : {"q", "k", "v"}) in_.push_back(k.input(name, {kTile, n_}, dtype_));
    out_ = k.output("out", {n_, kTile}, dtype_ == kF32 ? kF32 : dtype_);
    for (const View& in : in_) {
      tile_.push_back(k.sbuf({kTile, n_}, dtype_));
      move_.load(tile_.back(), in);
    }
  }

  void fused() {
    transpose_v();
    k_.loop(tiles_, [&](Index i) {
      const View scores = k_.sbuf({kTile, n_}, kF32), weights = k_.sbuf({kTile, n_}, kF32);
      product(scores, i);
      const View inverse = softmax(scores, weights);
      const View sum = weigh(weights);
      const View result = k_.sbuf({kTile, kTile}, out_.dtype());
      k_.tensor_scalar({.dst = result, .data = sum, .op0 = AluOp::multiply, .operand0 = inverse});
      move_.store(out_(ds(i * kTile, kTile), all), result);
    });
  }

  void in_phases() {
    const View scratch = k_.hbm({tiles_, kTile, n_}, kF32);
    k_.loop(tiles_, [&](Index i) {
      const View scores = k_.sbuf({kTile, n_}, kF32);
      product(scores, i);
      move_.store(scratch(i, all, all), scores);
    });
    k_.loop(tiles_, [&](Index i) {
      const View scores = k_.sbuf({kTile, n_}, kF32), weights = k_.sbuf({kTile, n_}, kF32);
      const View scaled = k_.sbuf({kTile, n_}, kF32);
      move_.load(scores, scratch(i, all, all));
      const View inverse = softmax(scores, weights);
      k_.loop(wide_, [&](Index j) {
        const Slice part = ds(j * kWide, kWide);
        k_.tensor_scalar(
            {.dst = scaled(all, part), .data = weights(all, part), .op0 = AluOp::multiply, .operand0 = inverse});
      });
      move_.store(scratch(i, all, all), scaled);
    });
    transpose_v();
    k_.loop(tiles_, [&](Index i) {
      const View weights = k_.sbuf({kTile, n_}, kF32), result = k_.sbuf({kTile, kTile}, out_.dtype());
      move_.load(weights, scratch(i, all, all));
      const View sum = weigh(weights);
      k_.tensor_copy({.dst = result, .src = sum});
      move_.store(out_(ds(i * kTile, kTile), all), result);
    });
  }

 private:
  // q tile times all of k; PSUM is emptied by the scalar engine, as the published traces show.
  void product(const View& scores, const Index& i) {
    k_.loop(wide_, [&](Index j) {
      const View sum = k_.psum({kTile, kWide}, kF32);
      k_.nc_matmul({.dst = sum,
                    .stationary = tile_[0](all, ds(i * kTile, kTile)),
                    .moving = tile_[1](all, ds(j * kWide, kWide))});
      k_.tensor_copy({.dst = scores(all, ds(j * kWide, kWide)), .src = sum, .engine = Engine::scalar});
    });
  }

  View softmax(const View& scores, const View& weights) {
    const View maxima = k_.sbuf({kTile, wide_}, kF32), sums = k_.sbuf({kTile, wide_}, kF32);
    const View lowest = k_.sbuf({kTile, 1}, kF32), total = k_.sbuf({kTile, 1}, kF32),
               inverse = k_.sbuf({kTile, 1}, kF32);
    k_.loop(wide_, [&](Index j) {
      k_.tensor_reduce(
          {.dst = maxima(all, ds(j, 1)), .op = AluOp::maximum, .data = scores(all, ds(j * kWide, kWide)), .axis = {1}});
    });
    k_.tensor_reduce({.dst = lowest, .op = AluOp::maximum, .data = maxima, .axis = {1}, .negate = true});
    k_.loop(wide_, [&](Index j) {
      const Slice part = ds(j * kWide, kWide);
      k_.activation({.dst = weights(all, part), .op = ActFn::exp, .data = scores(all, part), .bias = lowest});
      k_.tensor_reduce({.dst = sums(all, ds(j, 1)), .op = AluOp::add, .data = weights(all, part), .axis = {1}});
    });
    k_.tensor_reduce({.dst = total, .op = AluOp::add, .data = sums, .axis = {1}});
    k_.reciprocal({.dst = inverse, .data = total});
    return inverse;
  }

  // Four transposes fill a PSUM bank, which is emptied at once.
  void transpose(const View& dst, const View& src, bool on_scalar) {
    k_.loop(tiles_ / kGroup, [&](Index g) {
      const View bank = k_.psum({kTile, kGroup, kTile}, src.dtype());
      for (std::int64_t j = 0; j < kGroup; ++j)
        k_.nc_transpose({.dst = bank(all, j, all), .data = src(all, ds((g * kGroup + j) * kTile, kTile))});
      k_.tensor_copy({.dst = dst(all, ds(g * kGroup, kGroup), all),
                      .src = bank,
                      .engine = on_scalar ? Engine::scalar : Engine::vector});
    });
  }

  void transpose_v() {
    turned_ = k_.sbuf({kTile, tiles_, kTile}, kF32);
    transpose(turned_, tile_[2], true);
  }

  View weigh(const View& weights) {
    const View turned = k_.sbuf({kTile, tiles_, kTile}, kF32), sum = k_.psum({kTile, kTile}, kF32);
    transpose(turned, weights, false);
    k_.loop(tiles_, [&](Index j) {
      k_.nc_matmul({.dst = sum, .stationary = turned(all, j, all), .moving = turned_(all, j, all)});
    });
    return sum;
  }

  Kernel& k_;
  Mover move_;
  std::int64_t n_;
  DType dtype_;
  std::int64_t wide_, tiles_;
  std::vector<View> in_, tile_;
  View out_, turned_;
};

}  // namespace

const KernelTable& attention_kernels() {
  static const KernelTable table = {
      {"attention_fused", [](Kernel& k, const Params& p) { Attention(k, p).fused(); }},
      {"attention_phases", [](Kernel& k, const Params& p) { Attention(k, p).in_phases(); }},
  };
  return table;
}

}  // namespace kiln::bench
