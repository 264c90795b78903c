// State-space layers: the versions of the vendor's tutorial, later steps of a public optimisation trace of
// the same layer, and the vendor's library.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

// The layer's tensors, and the statements that all its versions consist of.
class Layer {
 protected:
  Layer(Kernel& k, const Params& p)
      : k_(k),
        move_(k, p),
        seq_(p.number("seq")),
        channels_(p.number("channels")),
        states_(p.number("states", 16)),
        delta_(k.input("delta", {channels_, seq_}, kF32)),
        u_(k.input("u", {channels_, seq_}, kF32)),
        a_(k.input("A", {channels_, states_}, kF32)),
        b_(k.input("B", {states_, seq_}, kF32)),
        c_(k.input("C", {states_, seq_}, kF32)),
        out_(k.output("output", {channels_, seq_}, kF32)),
        ones_(k.sbuf({1, kTile}, kF32)) {
    k.memset({.dst = ones_, .value = 1.0});
  }

  View tile(std::int64_t columns) { return k_.sbuf({kTile, columns}, kF32); }
  View load(const View& from, const Index& t) {
    const View rows = tile(from.dim(1));
    move_.load(rows, from(ds(t * kTile, kTile), all));
    return rows;
  }
  // A row of B or C over all partitions.
  View spread(const View& from, const Index& s, const Slice& part, std::int64_t columns) {
    const View row = k_.sbuf({1, columns}, kF32);
    move_.load(row, from(ds(s, 1), part));
    return spread_row(k_, ones_, row);
  }
  View multiply(const View& x, const View& y) {
    const View r = tile(x.dim(1));
    k_.tensor_tensor({.dst = r, .data1 = x, .data2 = y, .op = AluOp::multiply});
    return r;
  }
  void add(const View& sum, const View& x) {
    k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = x, .op = AluOp::add});
  }
  void scan(const View& dst, const View& decay, const View& input, const Operand& initial) {
    k_.tensor_tensor_scan(
        {.dst = dst, .data0 = decay, .data1 = input, .initial = initial, .op0 = AluOp::multiply, .op1 = AluOp::add});
  }

  Kernel& k_;
  Mover move_;
  std::int64_t seq_, channels_, states_;
  View delta_, u_, a_, b_, c_, out_, ones_;
};

// The three published versions: 1 loads delta and u for every state, 2 once per channel tile, 3 also cuts the
// sequence into tiles. Rows of B and C are spread over the partitions by DMA.
class Mamba : Layer {
 public:
  Mamba(Kernel& k, const Params& p)
      : Layer(k, p), version_(p.number("version", 2)), piece_(version_ == 3 ? p.number("piece", 512) : seq_) {}

  void make() {
    k_.loop(channels_ / kTile, [&](Index t) {
      const View sum = tile(seq_);
      k_.memset({.dst = sum, .value = 0.0});
      View delta, u;
      if (version_ > 1) {
        delta = load(delta_, t);
        u = tile(seq_);
        k_.tensor_tensor({.dst = u, .data1 = delta, .data2 = load(u_, t), .op = AluOp::multiply});
      }
      k_.loop(states_, [&](Index s) {
        const View d = version_ > 1 ? delta : load(delta_, t);
        const View a = tile(1);
        move_.load(a, a_(ds(t * kTile, kTile), ds(s, 1)));
        const View v = version_ > 1 ? u : load(u_, t);
        state(d, a, v, sum, s);
      });
      move_.store(out_(ds(t * kTile, kTile), all), sum);
    });
  }

 private:
  void state(const View& delta, const View& a, const View& u, const View& sum, const Index& s) {
    const View carry = tile(1);
    if (version_ == 3) k_.memset({.dst = carry, .value = 0.0});
    for (std::int64_t begin = 0; begin < seq_; begin += piece_) {
      const Slice part = ds(begin, piece_);
      const View decay = tile(piece_), states = tile(piece_);
      k_.activation({.dst = decay, .op = ActFn::exp, .data = delta(all, part), .scale = a});
      const View product = version_ > 1 ? u(all, part) : multiply(delta(all, part), u(all, part));
      const View input = multiply(product, spread(b_, s, part, piece_));
      scan(states, decay, input, version_ == 3 ? Operand(carry) : Operand(0.0));
      if (version_ == 3) k_.tensor_copy({.dst = carry, .src = states(all, ds(piece_ - 1, 1))});
      add(sum(all, part), multiply(states, spread(c_, s, part, piece_)));
    }
  }

  std::int64_t version_, piece_;
};

// Steps 5 and 6 of the trace: pieces of 512 outside, states inside, results added up in PSUM. Step 5 writes
// the spread rows of B and C to SBUF, step 6 uses them where they are.
class PiecewiseMamba : Layer {
 public:
  PiecewiseMamba(Kernel& k, const Params& p) : Layer(k, p), step_(p.number("step")) {}

  void make() {
    k_.loop(channels_ / kTile, [&](Index t) {
      const View delta = load(delta_, t), u = load(u_, t), a = load(a_, t);
      const View product = tile(seq_), carry = tile(states_);
      k_.tensor_tensor({.dst = product, .data1 = delta, .data2 = u, .op = AluOp::multiply});
      k_.memset({.dst = carry, .value = 0.0});
      k_.loop(seq_ / kWide, [&](Index i) {
        const Slice part = ds(i * kWide, kWide);
        const View sum = k_.psum({kTile, kWide}, kF32), result = tile(kWide);
        k_.memset({.dst = sum, .value = 0.0});
        k_.loop(states_, [&](Index s) {
          state(delta(all, part), product(all, part), a(all, ds(s, 1)), carry(all, ds(s, 1)), sum, s, part);
        });
        k_.tensor_copy({.dst = result, .src = sum});
        move_.store(out_(ds(t * kTile, kTile), part), result);
      });
    });
  }

 private:
  View spread_piece(const View& from, const Index& s, const Slice& part) {
    const View bank = spread(from, s, part, kWide);
    if (step_ == 6) return bank;
    const View copy = tile(kWide);
    k_.activation({.dst = copy, .op = ActFn::copy, .data = bank});
    return copy;
  }
  void state(const View& delta, const View& product, const View& a, const View& carry, const View& sum, const Index& s,
             const Slice& part) {
    const View decay = tile(kWide), states = tile(kWide);
    k_.activation({.dst = decay, .op = ActFn::exp, .data = delta, .scale = a});
    scan(states, decay, multiply(product, spread_piece(b_, s, part)), carry);
    k_.tensor_copy({.dst = carry, .src = states(all, ds(kWide - 1, 1))});
    add(sum, multiply(states, spread_piece(c_, s, part)));
  }

  std::int64_t step_;
};

// The library's scan of one tile of channels: the state goes through HBM, rows of B and C are spread by
// shuffles of 32 partitions, and a column of A is loaded for every state.
void library_scan(Kernel& k, const Params& p) {
  constexpr std::int64_t kQuarter = 32;
  const std::int64_t n = p.number("seq"), states = p.number("states", 16);
  Mover move(k, p);
  const View x = k.input("x", {kTile, n}, kF32), dt = k.input("dt", {kTile, n}, kF32);
  const View a = k.input("A", {kTile, states}, kF32), d = k.input("D", {kTile, 1}, kF32);
  const View b = k.input("B", {states, n}, kF32), c = k.input("C", {states, n}, kF32);
  const View y = k.output("y", {kTile, n}, kF32), last = k.output("final_state", {kTile, states}, kF32);
  const auto tile = [&](std::int64_t columns) { return k.sbuf({kTile, columns}, kF32); };
  const auto load = [&](const View& from, std::int64_t columns) {
    const View t = tile(columns);
    k.memset({.dst = t, .value = 0.0});
    move.load(t, from);
    return t;
  };
  const auto both = [&](const View& u, const View& v, AluOp op) {
    const View r = tile(n);
    k.tensor_tensor({.dst = r, .data1 = u, .data2 = v, .op = op});
    return r;
  };
  const auto spread = [&](const View& from, const Index& s) {
    const View row = k.sbuf({kQuarter, n}, kF32), full = tile(n);
    move.load(row(ds(0, 1), all), from(ds(s, 1), all));
    for (std::int64_t q = 0; q < kTile; q += kQuarter)
      k.nc_stream_shuffle(
          {.dst = full(ds(q, kQuarter), all), .src = row, .shuffle_mask = std::vector<std::int64_t>(kQuarter)});
    return full;
  };
  k.loop(states, [&](Index s) {
    const View zero = tile(1);
    k.memset({.dst = zero, .value = 0.0});
    move.store(last(all, ds(s, 1)), zero);
  });
  const View steps = load(dt, n), in = load(x, n), product = both(steps, in, AluOp::multiply), sum = tile(n);
  k.memset({.dst = sum, .value = 0.0});
  k.loop(states, [&](Index s) {
    const View column = load(a(all, ds(s, 1)), 1), carry = tile(1), decay = tile(n), scan = tile(n), next = tile(1);
    move.load(carry, last(all, ds(s, 1)));
    k.activation({.dst = decay, .op = ActFn::exp, .data = steps, .scale = column});
    const View input = both(product, spread(b, s), AluOp::multiply);
    k.tensor_tensor_scan(
        {.dst = scan, .data0 = decay, .data1 = input, .initial = carry, .op0 = AluOp::multiply, .op1 = AluOp::add});
    k.tensor_copy({.dst = next, .src = scan(all, ds(n - 1, 1))});
    move.store(last(all, ds(s, 1)), next);
    const View weighted = both(spread(c, s), scan, AluOp::multiply);
    k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = weighted, .op = AluOp::add});
  });
  const View gain = load(d, 1), skipped = tile(n);
  k.tensor_scalar({.dst = skipped, .data = in, .op0 = AluOp::multiply, .operand0 = gain});
  k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = skipped, .op = AluOp::add});
  move.store(y, sum);
}

}  // namespace

const KernelTable& scan_kernels() {
  static const KernelTable table = {
      {"mamba", [](Kernel& k, const Params& p) { Mamba(k, p).make(); }},
      {"mamba_pieces", [](Kernel& k, const Params& p) { PiecewiseMamba(k, p).make(); }},
      {"library_scan", library_scan},
  };
  return table;
}

}  // namespace kiln::bench
