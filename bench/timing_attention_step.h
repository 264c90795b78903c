// What the steps of a public optimisation trace of attention on trn1 have in common.
#pragma once

#include "bench/timing_common.h"

namespace kiln::bench {

class AttentionStep {
 protected:
  AttentionStep(isa::Kernel& k, const Params& p)
      : k_(k), move_(k, p), n_(p.number("seq")), wide_(n_ / kWide), tiles_(n_ / kTile) {
    q_ = k.input("q", {kTile, n_}, kBf16);
    key_ = k.input("k", {kTile, n_}, kBf16);
    v_ = k.input("v", {kTile, n_}, kBf16);
    out_ = k.output("out", {n_, kTile}, kBf16);
  }

  isa::View load(const isa::View& from) {
    const isa::View tile = k_.sbuf({kTile, n_}, kBf16);
    move_.load(tile, from);
    return tile;
  }
  isa::View negative(const isa::View& column) {
    const isa::View r = k_.sbuf({kTile, 1}, kF32);
    k_.tensor_scalar({.dst = r, .data = column, .op0 = AluOp::multiply, .operand0 = -1.0});
    return r;
  }
  void store(const isa::View& sum, const isa::Index& i) {
    const isa::View result = k_.sbuf({kTile, kTile}, kBf16);
    k_.tensor_copy({.dst = result, .src = sum});
    move_.store(out_(isa::ds(i * kTile, kTile), isa::all), result);
  }

  isa::Kernel& k_;
  Mover move_;
  std::int64_t n_, wide_, tiles_;
  isa::View q_, key_, v_, out_;
};

}  // namespace kiln::bench
