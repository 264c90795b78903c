// The first steps of the same optimisation trace of attention on trn1. PSUM cannot hold the scores, so they
// go to HBM: step 0 also keeps every intermediate result there, step 2 only the scores.
#include "bench/timing_attention_step.h"

namespace kiln::bench {
using namespace isa;

namespace {

class Spilled : AttentionStep {
 public:
  Spilled(Kernel& k, const Params& p) : AttentionStep(k, p) {
    q_tile_ = load(q_);
    key_tile_ = load(key_);
    v_tile_ = load(v_);
    scores_ = k.hbm({tiles_, kTile, n_}, kF32);
    maxima_ = k.sbuf({kTile, tiles_}, kF32);
    sums_ = k.sbuf({kTile, tiles_}, kF32);
    inverse_ = k.sbuf({kTile, tiles_}, kF32);
  }

  void through_hbm() {
    const View shifted = k_.hbm({tiles_, kTile, n_}, kF32), e = k_.hbm({tiles_, kTile, n_}, kF32);
    const View weights = k_.hbm({tiles_, kTile, n_}, kF32);
    product();
    pass(shifted, scores_, [&](const View& dst, const View& src, const Index& i) {
      k_.loop(wide_, [&](Index j) {
        const Slice part = ds(j * kWide, kWide);
        k_.tensor_scalar({.dst = dst(all, part),
                          .data = src(all, part),
                          .op0 = AluOp::subtract,
                          .operand0 = maxima_(all, ds(i, 1))});
      });
    });
    pass(e, shifted, [&](const View& dst, const View& src, const Index&) {
      k_.activation({.dst = dst, .op = ActFn::exp, .data = src});
    });
    k_.loop(tiles_, [&](Index i) {
      const View row = load_row(e, i);
      k_.tensor_reduce({.dst = sums_(all, ds(i, 1)), .op = AluOp::add, .data = row, .axis = {1}});
    });
    k_.reciprocal({.dst = inverse_, .data = sums_});
    pass(weights, e, [&](const View& dst, const View& src, const Index& i) {
      k_.tensor_scalar({.dst = dst, .data = src, .op0 = AluOp::multiply, .operand0 = inverse_(all, ds(i, 1))});
    });
    turned_product(weights);
  }

  void scores_in_hbm() {
    product();
    k_.memset({.dst = sums_, .value = 0.0});
    k_.loop(tiles_, [&](Index i) {
      const View bias = negative(maxima_(all, ds(i, 1))), row = load_row(scores_, i);
      k_.loop(wide_, [&](Index j) {
        const View e = k_.sbuf({kTile, kWide}, kF32), part = k_.sbuf({kTile, 1}, kF32);
        const View total = sums_(all, ds(i, 1));
        k_.activation({.dst = e, .op = ActFn::exp, .data = row(all, ds(j * kWide, kWide)), .bias = bias});
        k_.tensor_reduce({.dst = part, .op = AluOp::add, .data = e, .axis = {1}});
        k_.tensor_tensor({.dst = total, .data1 = total, .data2 = part, .op = AluOp::add});
      });
    });
    k_.reciprocal({.dst = inverse_, .data = sums_});
    k_.loop(tiles_, [&](Index i) { weigh(i); });
  }

 private:
  View load_row(const View& from, const Index& i) {
    const View row = k_.sbuf({kTile, n_}, kF32);
    move_.load(row, from(i, all, all));
    return row;
  }

  void product() {
    k_.loop(tiles_, [&](Index i) {
      const View row = k_.sbuf({kTile, n_}, kF32), best = k_.sbuf({kTile, wide_}, kF32);
      k_.loop(wide_, [&](Index j) {
        const View sum = k_.psum({kTile, kWide}, kF32);
        k_.nc_matmul({.dst = sum,
                      .stationary = q_tile_(all, ds(i * kTile, kTile)),
                      .moving = key_tile_(all, ds(j * kWide, kWide))});
        k_.tensor_reduce({.dst = best(all, ds(j, 1)), .op = AluOp::maximum, .data = sum, .axis = {1}});
        k_.activation({.dst = row(all, ds(j * kWide, kWide)), .op = ActFn::copy, .data = sum});
      });
      k_.tensor_reduce({.dst = maxima_(all, ds(i, 1)), .op = AluOp::maximum, .data = best, .axis = {1}});
      move_.store(scores_(i, all, all), row);
    });
  }

  void pass(const View& to, const View& from, const std::function<void(const View&, const View&, const Index&)>& body) {
    k_.loop(tiles_, [&](Index i) {
      const View src = load_row(from, i), dst = k_.sbuf({kTile, n_}, kF32);
      body(dst, src, i);
      move_.store(to(i, all, all), dst);
    });
  }

  View turn(const View& src) {
    const View bank = k_.psum({kTile, kTile}, src.dtype()), turned = k_.sbuf({kTile, kTile}, kF32);
    k_.nc_transpose({.dst = bank, .data = src});
    k_.tensor_copy({.dst = turned, .src = bank});
    return turned;
  }

  // Weights and values are transposed through HBM, tile by tile.
  void turned_product(const View& weights) {
    const View v = k_.hbm({tiles_, kTile, kTile}, kF32), w = k_.hbm({tiles_, tiles_, kTile, kTile}, kF32);
    k_.loop(tiles_, [&](Index j) { move_.store(v(j, all, all), turn(v_tile_(all, ds(j * kTile, kTile)))); });
    k_.loop(tiles_, [&](Index i) {
      k_.loop(tiles_, [&](Index j) {
        const View tile = k_.sbuf({kTile, kTile}, kF32);
        move_.load(tile, weights(i, all, ds(j * kTile, kTile)));
        move_.store(w(j, i, all, all), turn(tile));
      });
    });
    k_.loop(tiles_, [&](Index i) {
      const View sum = k_.psum({kTile, kTile}, kF32);
      k_.loop(tiles_, [&](Index j) {
        const View left = k_.sbuf({kTile, kTile}, kF32), right = k_.sbuf({kTile, kTile}, kF32);
        move_.load(left, w(j, i, all, all));
        move_.load(right, v(j, all, all));
        k_.nc_matmul({.dst = sum, .stationary = left, .moving = right});
      });
      store(sum, i);
    });
  }

  void weigh(const Index& i) {
    const View sum = k_.psum({kTile, kTile}, kF32), bias = negative(maxima_(all, ds(i, 1))), row = load_row(scores_, i);
    k_.loop(wide_, [&](Index j) {
      const View e = k_.sbuf({kTile, kWide}, kF32), scaled = k_.sbuf({kTile, kWide}, kF32);
      k_.activation({.dst = e, .op = ActFn::exp, .data = row(all, ds(j * kWide, kWide)), .bias = bias});
      k_.tensor_scalar({.dst = scaled, .data = e, .op0 = AluOp::multiply, .operand0 = inverse_(all, ds(i, 1))});
      for (std::int64_t s = 0; s < kGroup; ++s) {
        const View left = turn(scaled(all, ds(s * kTile, kTile)));
        const View right = turn(v_tile_(all, ds((j * kGroup + s) * kTile, kTile)));
        k_.nc_matmul({.dst = sum, .stationary = left, .moving = right});
      }
    });
    store(sum, i);
  }

  View q_tile_, key_tile_, v_tile_, scores_, maxima_, sums_, inverse_;
};

}  // namespace

const KernelTable& spilled_attention_kernels() {
  static const KernelTable table = {
      {"attention_through_hbm", [](Kernel& k, const Params& p) { Spilled(k, p).through_hbm(); }},
      {"attention_scores_in_hbm", [](Kernel& k, const Params& p) { Spilled(k, p).scores_in_hbm(); }},
  };
  return table;
}

}  // namespace kiln::bench
