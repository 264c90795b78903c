#include "kernels/blas/mp2_double.h"

#include "kernels/blas/compensated.h"
#include "kernels/blas/config_rules.h"
#include "kernels/blas/double_float.h"
#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kColumns = 256;  // of a block: tiles of many numbers live at once

DoubleView inputs(Kernel& k, const std::string& name, const Shape& shape) {
  const View high = k.input(name + "0", shape, f32);
  return {high, k.input(name + "1", shape, f32)};
}

// Both parts of something that is done to each.
template <class Part>
DoubleView both(const DoubleView& x, Part&& part) {
  return {part(x.high), part(x.low)};
}

// A block of amplitudes: T_ab and T_ba for rows a and columns b.
struct Amplitudes {
  DoubleView ab, ba;
};
using AmplitudesOf = std::function<Amplitudes(const Index& a, std::int64_t rows, const Index& b, std::int64_t columns)>;

// Sums of terms of pairs.
class DoubleTerms {
 public:
  DoubleTerms(Kernel& k, std::int64_t virtuals)
      : k_(k),
        virtuals_(virtuals),
        vir_(inputs(k, "v", {1, virtuals})),
        math_(k, kTile, kColumns),
        sum_(k, kTile, kColumns) {}

  // Adds weight Σ_ab T_ab (2 T_ab - T_ba) / (e - ε_a - ε_b), e [1, 1] in HBM.
  void add(const DoubleView& e, double weight, const AmplitudesOf& amplitudes) {
    k_.tiles(virtuals_, kTile, [&](Index a0, std::int64_t rows) {
      const DoubleView base = both(e, [&](const View& part) { return loaded(part.broadcast(0, rows)); });
      const DoubleView of_a = both(vir_, [&](const View& part) {
        return loaded(part(0, ds(a0, rows)).reshape({rows, 1}));
      });
      const DoubleView column = math_.difference(base, of_a);
      k_.tiles(virtuals_, kColumns, [&](Index b0, std::int64_t columns) {
        const Amplitudes t = amplitudes(a0, rows, b0, columns);
        add_terms(t, inverse(column, b0, columns), weight);
      });
    });
  }

  void store(const View& energy) { sum_.store_total(energy); }

 private:
  View loaded(const View& from) {
    const View tile = k_.sbuf(from.shape(), f32);
    k_.dma_copy({.dst = tile, .src = from});
    return tile;
  }

  // 1 / (column - ε_b)
  DoubleView inverse(const DoubleView& column, const Index& b0, std::int64_t columns) {
    const std::int64_t rows = column.high.dim(0);
    const DoubleView of_b =
        both(vir_, [&](const View& part) { return loaded(part(all, ds(b0, columns)).broadcast(0, rows)); });
    return math_.reciprocal(math_.difference(math_.spread(column, columns), of_b));
  }

  void add_terms(const Amplitudes& t, const DoubleView& inverse, double weight) {
    const DoubleView exchange = math_.difference(math_.scaled(t.ab, 2.0), t.ba);
    const DoubleView terms = math_.product(math_.product(t.ab, exchange), inverse);
    for (const View& part : {terms.high, terms.low}) {
      const View whole = k_.sbuf({kTile, part.dim(1)}, f32);  // as many rows as the sums have
      k_.memset({.dst = whole, .value = 0.0});
      k_.tensor_scalar({.dst = whole(ds(0, part.dim(0))), .data = part, .op0 = AluOp::multiply, .operand0 = weight});
      sum_.add(whole);
    }
  }

  Kernel& k_;
  std::int64_t virtuals_;
  DoubleView vir_;
  DoubleFloat math_;
  CompensatedSum sum_;
};

// The amplitudes of two panels [virtual, auxiliary] in HBM.
AmplitudesOf products(Kernel& k, const DoubleView& b_i, const DoubleView& b_j) {
  const DoubleGemmConfig c{.m = b_i.high.dim(0), .n = b_i.high.dim(0), .k = b_i.high.dim(1), .trans_b = true};
  return [&k, c, b_i, b_j](const Index& a, std::int64_t rows, const Index& b, std::int64_t columns) {
    return Amplitudes{DoubleLoops(k, c, b_i, b_j).block(a, rows, b, columns),
                      DoubleLoops(k, c, b_j, b_i).block(a, rows, b, columns)};
  };
}

}  // namespace

Program mp2_energy_double(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary, Target target) {
  require_sizes("mp2_energy_double", {occupied, virtuals, auxiliary});
  Kernel k("mp2_energy_double", target);
  const std::int64_t reach = (occupied - 1) / 2, half = occupied % 2 == 0 ? occupied / 2 : 0;
  const DoubleView b = inputs(k, "b", {occupied + reach, virtuals, auxiliary});
  const DoubleView e = inputs(k, "e", {occupied / 2 + 1, occupied});
  const View energy = k.output("energy", {1, 2}, f32);
  DoubleTerms terms(k, virtuals);
  const auto pair = [&](const Index& i, const Index& d, double weight) {
    const auto panel = [&](const Index& at) { return both(b, [&](const View& part) { return part(at); }); };
    terms.add(both(e, [&](const View& part) { return part(ds(d, 1), ds(i, 1)); }), weight,
              products(k, panel(i), panel(i + d)));
  };
  k.loop(occupied, [&](Index i) {
    pair(i, 0, 1.0);
    if (reach > 0) k.loop(1, reach + 1, 1, [&](Index d) { pair(i, d, 2.0); });
  });
  if (half > 0) k.loop(half, [&](Index i) { pair(i, half, 2.0); });  // opposite orbitals meet once only
  terms.store(energy);
  return k.finish();
}

Program mp2_pair_energy_double(std::int64_t virtuals, std::int64_t auxiliary, Target target) {
  require_sizes("mp2_pair_energy_double", {virtuals, auxiliary});
  Kernel k("mp2_pair_energy_double", target);
  const DoubleView b_i = inputs(k, "b_i", {virtuals, auxiliary}), b_j = inputs(k, "b_j", {virtuals, auxiliary});
  const DoubleView e = inputs(k, "e", {1, 1});
  const View energy = k.output("energy", {1, 2}, f32);
  DoubleTerms terms(k, virtuals);
  terms.add(e, 1.0, products(k, b_i, b_j));
  terms.store(energy);
  return k.finish();
}

Program mp2_reduce_double(std::int64_t chunk, std::int64_t occupied, std::int64_t virtuals, Target target) {
  require_sizes("mp2_reduce_double", {chunk, occupied, virtuals});
  Kernel k("mp2_reduce_double", target);
  const DoubleView t = inputs(k, "amplitudes", {chunk * virtuals, occupied * virtuals});
  const DoubleView e = inputs(k, "e", {chunk, occupied});
  const View energy = k.output("energy", {1, 2}, f32);
  DoubleTerms terms(k, virtuals);
  k.loop(chunk, [&](Index i) {
    k.loop(occupied, [&](Index j) {
      terms.add(both(e, [&](const View& part) { return part(ds(i, 1), ds(j, 1)); }), 1.0,
                [&](const Index& a, std::int64_t rows, const Index& b, std::int64_t columns) {
                  const auto straight = [&](const View& part) {
                    const View tile = k.sbuf({rows, columns}, f32);
                    k.dma_copy({.dst = tile, .src = part(ds(i * virtuals + a, rows), ds(j * virtuals + b, columns))});
                    return tile;
                  };
                  const auto turned = [&](const View& part) {
                    const View tile = chunk_tile(k, rows, columns, f32);
                    load_chunk(k, tile, {part, false}, j * virtuals + a, rows, i * virtuals + b, columns);
                    return tile(ds(0, rows), 0);
                  };
                  return Amplitudes{both(t, straight), both(t, turned)};
                });
    });
  });
  terms.store(energy);
  return k.finish();
}

}  // namespace kiln::kernels
