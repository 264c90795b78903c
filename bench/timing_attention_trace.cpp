// Steps of a public optimisation trace of attention on trn1: three passes that compute the scores anew (steps
// 3, 5 and 6), scores kept in SBUF (step 8), and scores computed twice (step 9).
#include "bench/timing_attention_step.h"

namespace kiln::bench {
using namespace isa;

namespace {

class Passes : AttentionStep {
 public:
  Passes(Kernel& k, const Params& p) : AttentionStep(k, p), step_(p.number("step")) {
    q_tile_ = load(q_);
    key_tile_ = load(key_);
  }

  void three_passes() {
    const View v = load(v_);
    const View maxima = k_.sbuf({kTile, tiles_}, kF32), sums = k_.sbuf({kTile, tiles_}, kF32);
    k_.loop(tiles_, [&](Index i) { find_maximum(maxima(all, ds(i, 1)), i); });
    k_.loop(tiles_, [&](Index i) { add_up(sums(all, ds(i, 1)), maxima(all, ds(i, 1)), i); });
    const View inverse = k_.sbuf({kTile, tiles_}, kF32);
    k_.reciprocal({.dst = inverse, .data = sums});
    k_.loop(tiles_, [&](Index i) { weigh(v, maxima(all, ds(i, 1)), inverse(all, ds(i, 1)), i); });
  }

  void cached() {
    const View turned = k_.sbuf({kTile, tiles_, kTile}, kBf16);
    k_.loop(tiles_, [&](Index j) {
      const View part = k_.sbuf({kTile, kTile}, kBf16);
      move_.load(part, v_(all, ds(j * kTile, kTile)));
      transpose(turned(all, j, all), part, true);
    });
    k_.loop(tiles_, [&](Index i) { cached_tile(turned, i); });
  }

 private:
  View column() { return k_.sbuf({kTile, 1}, kF32); }
  View scores(const Index& i, const Index& j) {
    const View sum = k_.psum({kTile, kWide}, kF32);
    k_.nc_matmul(
        {.dst = sum, .stationary = q_tile_(all, ds(i * kTile, kTile)), .moving = key_tile_(all, ds(j * kWide, kWide))});
    return sum;
  }
  void copy(const View& dst, const View& src, bool on_scalar) {
    if (on_scalar) {
      k_.activation({.dst = dst, .op = ActFn::copy, .data = src});
    } else {
      k_.tensor_copy({.dst = dst, .src = src});
    }
  }
  void transpose(const View& dst, const View& src, bool on_scalar) {
    const View bank = k_.psum({kTile, kTile}, src.dtype());
    k_.nc_transpose({.dst = bank, .data = src});
    copy(dst, bank, on_scalar);
  }

  void find_maximum(const View& maximum, const Index& i) {
    const View best = column();
    k_.tensor_reduce({.dst = best, .op = AluOp::maximum, .data = scores(i, 0), .axis = {1}});
    k_.loop(1, wide_, 1, [&](Index j) {
      const View other = column();
      k_.tensor_reduce({.dst = other, .op = AluOp::maximum, .data = scores(i, j), .axis = {1}});
      k_.tensor_tensor({.dst = best, .data1 = best, .data2 = other, .op = AluOp::maximum});
    });
    k_.tensor_copy({.dst = maximum, .src = best});
  }

  // Step 3 adds up on the vector engine, step 5 lets the scalar engine do it while it computes.
  void add_up(const View& total, const View& maximum, const Index& i) {
    const View bias = negative(maximum);
    if (step_ == 3) k_.memset({.dst = total, .value = 0.0});
    for (std::int64_t j = 0; j < wide_; ++j) {
      const View e = k_.sbuf({kTile, kWide}, kF32);
      if (step_ == 3) {
        const View part = column();
        k_.activation({.dst = e, .op = ActFn::exp, .data = scores(i, j), .bias = bias});
        k_.tensor_reduce({.dst = part, .op = AluOp::add, .data = e, .axis = {1}});
        k_.tensor_tensor({.dst = total, .data1 = total, .data2 = part, .op = AluOp::add});
        continue;
      }
      activation_args args{.dst = e, .op = ActFn::exp, .data = scores(i, j), .bias = bias, .reduce_op = AluOp::add};
      args.reduce_cmd = j == 0 ? ReduceCmd::reset_reduce : ReduceCmd::reduce;
      if (j == wide_ - 1) args.reduce_res = total;
      k_.activation(args);
    }
  }

  void weigh(const View& v, const View& maximum, const View& inverse, const Index& i) {
    const DType dtype = step_ == 3 ? kF32 : kBf16;
    const View sum = k_.psum({kTile, kTile}, kF32), bias = negative(maximum);
    k_.loop(wide_, [&](Index j) {
      const View e = k_.sbuf({kTile, kWide}, dtype), scaled = k_.sbuf({kTile, kWide}, dtype);
      k_.activation({.dst = e, .op = ActFn::exp, .data = scores(i, j), .bias = bias});
      k_.tensor_scalar({.dst = scaled, .data = e, .op0 = AluOp::multiply, .operand0 = inverse});
      for (std::int64_t s = 0; s < kGroup; ++s) {
        const View left = k_.sbuf({kTile, kTile}, dtype), right = k_.sbuf({kTile, kTile}, dtype);
        transpose(left, scaled(all, ds(s * kTile, kTile)), false);
        transpose(right, v(all, ds((j * kGroup + s) * kTile, kTile)), true);
        k_.nc_matmul({.dst = sum, .stationary = left, .moving = right});
      }
    });
    store(sum, i);
  }

  void cached_tile(const View& turned, const Index& i) {
    const bool keeps = step_ == 8;
    const View cache = keeps ? k_.sbuf({kTile, wide_, kWide}, kBf16) : View();
    const View maxima = k_.sbuf({kTile, wide_}, kF32);
    const View sums = k_.sbuf({kTile, tiles_}, kF32), maximum = column(), total = column(), inverse = column();
    const View sum = k_.psum({kTile, kTile}, kF32), result = k_.sbuf({kTile, kTile}, kBf16);
    k_.loop(wide_, [&](Index j) {
      const View s = scores(i, j);
      k_.tensor_reduce({.dst = maxima(all, ds(j, 1)), .op = AluOp::maximum, .data = s, .axis = {1}});
      if (keeps) k_.tensor_copy({.dst = cache(all, j, all), .src = s});
    });
    k_.tensor_reduce({.dst = maximum, .op = AluOp::maximum, .data = maxima, .axis = {1}});
    const View bias = negative(maximum);
    k_.loop(wide_, [&](Index j) {
      const View row = keeps ? cache(all, j, all) : scores(i, j);
      for (std::int64_t s = 0; s < kGroup; ++s) {
        const View e = k_.sbuf({kTile, kTile}, kBf16), left = k_.sbuf({kTile, kTile}, kBf16);
        const Index at = j * kGroup + s;
        k_.activation({.dst = e, .op = ActFn::exp, .data = row(all, ds(s * kTile, kTile)), .bias = bias});
        k_.tensor_reduce({.dst = sums(all, ds(at, 1)), .op = AluOp::add, .data = e, .axis = {1}});
        transpose(left, e, s % 2 == 0);
        k_.nc_matmul({.dst = sum, .stationary = left, .moving = turned(all, at, all)});
      }
    });
    k_.tensor_reduce({.dst = total, .op = AluOp::add, .data = sums, .axis = {1}});
    k_.reciprocal({.dst = inverse, .data = total});
    k_.tensor_scalar({.dst = result, .data = sum, .op0 = AluOp::multiply, .operand0 = inverse});
    move_.store(out_(ds(i * kTile, kTile), all), result);
  }

  std::int64_t step_;
  View q_tile_, key_tile_;
};

}  // namespace

const KernelTable& attention_trace_kernels() {
  static const KernelTable table = {
      {"attention_passes", [](Kernel& k, const Params& p) { Passes(k, p).three_passes(); }},
      {"attention_cached", [](Kernel& k, const Params& p) { Passes(k, p).cached(); }},
  };
  return table;
}

}  // namespace kiln::bench
