// Vector addition, matrix transposition, and a state-space layer.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

constexpr DType kF32 = DType::float32;
constexpr std::int64_t kTile = 128;

// `count` tiles of rows x columns: two loads, an addition, a store.
void vector_add(Kernel& k, const Params& p) {
  const std::int64_t rows = p.number("rows", kTile), columns = p.number("columns", 1),
                     count = p.number("count", 1);
  Mover move(k, p);
  const View a = k.input("a", {rows, count * columns}, kF32), b = k.input("b", {rows, count * columns}, kF32);
  const View out = k.output("out", {rows, count * columns}, kF32);
  k.loop(count, [&](Index i) {
    const View x = k.sbuf({rows, columns}, kF32), y = k.sbuf({rows, columns}, kF32),
               z = k.sbuf({rows, columns}, kF32);
    const Slice part = ds(i * columns, columns);
    move.load(x, a(all, part));
    move.load(y, b(all, part));
    k.tensor_tensor({.dst = z, .data1 = x, .data2 = y, .op = AluOp::add});
    move.store(out(all, part), z);
  });
}

void transpose(Kernel& k, const Params& p) {
  const std::int64_t n = p.number("n");
  Mover move(k, p);
  const View in = k.input("in", {n, n}, kF32), out = k.output("out", {n, n}, kF32);
  k.loop(n / kTile, [&](Index r) {
    k.loop(n / kTile, [&](Index c) {
      const View tile = k.sbuf({kTile, kTile}, kF32), turned = k.psum({kTile, kTile}, kF32);
      const View result = k.sbuf({kTile, kTile}, kF32);
      move.load(tile, in(ds(r * kTile, kTile), ds(c * kTile, kTile)));
      k.nc_transpose({.dst = turned, .data = tile});
      k.tensor_copy({.dst = result, .src = turned, .engine = Engine::scalar});
      move.store(out(ds(c * kTile, kTile), ds(r * kTile, kTile)), result);
    });
  });
}

// The layer's three published versions: 1 loads delta and u for every state, 2 once per channel tile, 3 also
// cuts the sequence into tiles. Rows of B and C are spread over the partitions by DMA.
class Mamba {
 public:
  Mamba(Kernel& k, const Params& p)
      : k_(k),
        move_(k, p),
        version_(p.number("version", 2)),
        seq_(p.number("seq")),
        channels_(p.number("channels")),
        states_(p.number("states", 16)),
        piece_(version_ == 3 ? p.number("piece", 512) : seq_) {
    delta_ = k.input("delta", {channels_, seq_}, kF32);
    u_ = k.input("u", {channels_, seq_}, kF32);
    a_ = k.input("A", {channels_, states_}, kF32);
    b_ = k.input("B", {states_, seq_}, kF32);
    c_ = k.input("C", {states_, seq_}, kF32);
    out_ = k.output("output", {channels_, seq_}, kF32);
  }

  void make() {
    ones_ = k_.sbuf({1, kTile}, kF32);
    k_.memset({.dst = ones_, .value = 1.0});
    k_.loop(channels_ / kTile, [&](Index t) {
      const View sum = row();
      k_.memset({.dst = sum, .value = 0.0});
      View delta, u;
      if (version_ > 1) {
        delta = load_rows(delta_, t);
        u = row();
        k_.tensor_tensor({.dst = u, .data1 = delta, .data2 = load_rows(u_, t), .op = AluOp::multiply});
      }
      k_.loop(states_, [&](Index s) {
        const View d = version_ > 1 ? delta : load_rows(delta_, t);
        const View a = k_.sbuf({kTile, 1}, kF32);
        move_.load(a, a_(ds(t * kTile, kTile), ds(s, 1)));
        const View v = version_ > 1 ? u : load_rows(u_, t);
        state(d, a, v, sum, s);
      });
      move_.store(out_(ds(t * kTile, kTile), all), sum);
    });
  }

 private:
  View row() { return k_.sbuf({kTile, seq_}, kF32); }
  View load_rows(const View& from, const Index& t) {
    const View tile = row();
    move_.load(tile, from(ds(t * kTile, kTile), all));
    return tile;
  }
  View spread(const View& from, const Index& s, std::int64_t begin) {
    const View tile = k_.sbuf({1, piece_}, kF32);
    move_.load(tile, from(ds(s, 1), ds(begin, piece_)));
    return spread_row(k_, ones_, tile);
  }
  View multiply(const View& x, const View& y) {
    const View r = k_.sbuf({kTile, piece_}, kF32);
    k_.tensor_tensor({.dst = r, .data1 = x, .data2 = y, .op = AluOp::multiply});
    return r;
  }
  void state(const View& delta, const View& a, const View& u, const View& sum, const Index& s) {
    const View carry = k_.sbuf({kTile, 1}, kF32);
    if (version_ == 3) k_.memset({.dst = carry, .value = 0.0});
    for (std::int64_t begin = 0; begin < seq_; begin += piece_) {
      const Slice part = ds(begin, piece_);
      const View decay = k_.sbuf({kTile, piece_}, kF32), scan = k_.sbuf({kTile, piece_}, kF32);
      k_.activation({.dst = decay, .op = ActFn::exp, .data = delta(all, part), .scale = a});
      const View product = version_ > 1 ? u(all, part) : multiply(delta(all, part), u(all, part));
      const View input = multiply(product, spread(b_, s, begin));
      k_.tensor_tensor_scan({.dst = scan,
                             .data0 = decay,
                             .data1 = input,
                             .initial = version_ == 3 ? Operand(carry) : Operand(0.0),
                             .op0 = AluOp::multiply,
                             .op1 = AluOp::add});
      if (version_ == 3) k_.tensor_copy({.dst = carry, .src = scan(all, ds(piece_ - 1, 1))});
      const View weighted = multiply(scan, spread(c_, s, begin));
      k_.tensor_tensor({.dst = sum(all, part), .data1 = sum(all, part), .data2 = weighted, .op = AluOp::add});
    }
  }

  Kernel& k_;
  Mover move_;
  std::int64_t version_, seq_, channels_, states_, piece_;
  View delta_, u_, a_, b_, c_, out_, ones_;
};

}  // namespace

const KernelTable& other_kernels() {
  static const KernelTable table = {
      {"vector_add", vector_add},
      {"transpose", transpose},
      {"mamba", [](Kernel& k, const Params& p) { Mamba(k, p).make(); }},
  };
  return table;
}

}  // namespace kiln::bench
