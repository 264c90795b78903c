#include "kernels/fft/one_trip.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/blas/split.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/core_share.h"
#include "kernels/fft/tangle.h"
#include "kernels/fft/trip_steps.h"
#include "kernels/fft/warm_up.h"

namespace kiln::kernels {
using namespace isa;

namespace {

Complex phase_of(const OneTrip& f, std::int64_t a, std::int64_t b, std::int64_t n) {
  const std::int64_t k = product_mod(a, b, n);
  return root(f.positive || f.spectrum == Spectrum::inverse ? k : -k, n);
}

// Of the products and of what is between them, in the order in which they are needed.
Tables product_tables(const OneTrip& f) {
  const std::int64_t n0 = f.way.n0, n1 = f.way.n1, n2 = f.way.n2, together = f.together();
  Tables tables;
  add_product_tables(tables, f.prefix + "first", n0, f.kept(), f.spectrum == Spectrum::forward,
                     [&](std::int64_t j0, std::int64_t k0) { return phase_of(f, j0, k0, n0); });
  tables.push_back(pairs_table(f.prefix + "inner", n1, f.kept(),
                               [&](std::int64_t j1, std::int64_t k0) { return phase_of(f, j1, k0, n0 * n1); }));
  add_product_tables(tables, f.prefix + "second", n1, n1, false,
                     [&](std::int64_t j1, std::int64_t k1) { return phase_of(f, j1, k1, n1); });
  tables.push_back(
      pairs_table(f.prefix + "outer", together * n2, f.blocks() * n1, [&](std::int64_t row, std::int64_t column) {
        const std::int64_t k0 = column / n1 * together + row / n2, k1 = column % n1;
        return phase_of(f, row % n2, k0 + n0 * k1, f.n());
      }));
  add_product_tables(tables, f.prefix + "third", together * n2, together * n2, false,
                     [&](std::int64_t row, std::int64_t column) {
                       if (row / n2 != column / n2) return Complex(0);
                       return f.scale * phase_of(f, row % n2, column % n2, n2);
                     });
  return tables;
}

TangleConfig tangle_of(const OneTrip& f) { return {f.n(), f.spectrum, true}; }

// Of half spectra, on the partitions as their numbers are loaded.
Table weights_table(const OneTrip& f) {
  const std::int64_t width = f.n() / f.way.n0;
  return pairs_table(f.prefix + "weights", f.way.n0, width, [&](std::int64_t row, std::int64_t column) {
    return tangle_weight(tangle_of(f), row * width + column);
  });
}

struct OneTripRows : TripSteps {
  const OneTrip& f;
  WarmUp warm_up;
  Piece some;                          // of the blocks
  bool parts_come, parts_go, goes_on;  // the last: results are read again
  std::int64_t n0 = f.way.n0, n1 = f.way.n1, n2 = f.way.n2, together = f.together();
  std::int64_t first_k0 = some.start * together, kept = std::min(f.kept() - first_k0, some.size*together);
  bool real = f.spectrum == Spectrum::forward;
  std::vector<Parts> first = {}, second = {}, third = {};
  View inner = {}, outer = {};  // factors behind the first product and the second one, as pairs
  View weights = {};            // of half spectra

  OneTripRows(Kernel& kernel, const OneTrip& config, const Piece& blocks, const OneTripSteps& steps = {})
      : TripSteps{kernel, config.precision, false},
        f(config),
        warm_up(kernel, config.way.warm_up),
        some(blocks),
        parts_come(steps.parts_come),
        parts_go(steps.parts_go),
        goes_on(steps.after != nullptr) {}

  void load_weights() {
    if (f.spectrum != Spectrum::inverse) return;
    const Table t = weights_table(f);
    weights = resident(k, t.name, t.rows, t.columns).reshape_dim(1, {t.columns / 2, 2});
  }
  void load_tables() {
    std::vector<View> tiles;
    for (const Table& t : product_tables(f)) tiles.push_back(resident(k, t.name, t.rows, t.columns));
    std::size_t next = 0;
    first = products(tiles, next, real), inner = factors(tiles, next);
    second = products(tiles, next, false), outer = factors(tiles, next);
    third = products(tiles, next, false);
  }

  // Numbers of a row [j0; j1, j2], or both parts of them.
  std::vector<Parts> load(const View& x, const Index& row) const {
    const auto tile_of = [&](const Index& from, std::int64_t width) {
      const View tile = k.sbuf({n0, width}, f32);
      k.dma_copy({.dst = tile, .src = x(ds(from, 1)).reshape_dim(1, {n0, width}).flatten_dims(0, 1)});
      return tile;
    };
    const auto plane = [&](const Index& from) { return parts(tile_of(from, n1 * n2).reshape_dim(1, {n1, n2})); };
    if (real) return {plane(row)};
    if (f.spectrum == Spectrum::inverse) return numbers(load_half(x, row).reshape_dim(1, {n1, n2}));
    if (parts_come) return {plane(row * 2), plane(row * 2 + 1)};
    return numbers(tile_of(row, 2 * n1 * n2).reshape_dim(1, {n1, n2, 2}));
  }

  // What half a spectrum is a half of, [k as j0; the others, 2]: its numbers come as they are, and backwards.
  View load_half(const View& x, const Index& row) const {
    constexpr std::int64_t kAtOnce = 256;  // so that engines do not wait for all of a step
    const std::int64_t width = n1 * n2;
    const View z = k.sbuf({n0, width, 2}, f32), lower = k.sbuf({n0, width, 2}, f32),
               upper = k.sbuf({n0, width, 2}, f32);
    const auto load = [&](const View& to, std::int64_t step, std::int64_t first) {
      const View from = x.ap({{2 * step, n0}, {1, 2 * width}}, row * x.stride(0) + (x.offset() + 2 * first));
      k.dma_copy({.dst = to.flatten_dims(1, 2), .src = from});
    };
    load(upper, -width, f.n() - width + 1);
    load(lower, width, 0);
    // What should be real counts as real.
    for (const View& number : {lower(ds(0, 1), ds(0, 1)), upper(ds(0, 1), ds(width - 1, 1))})
      k.memset({.dst = component(number, 1), .value = 0.0});
    for (const Piece& p : even_pieces(width, kAtOnce)) {
      const View other = upper.ap({{2 * width, n0}, {-2, p.size}, {1, 2}}, 2 * (width - 1 - p.start));
      const Slice some_numbers = ds(p.start, p.size);
      tangle_tiles(k, tangle_of(f), z(all, some_numbers), lower(all, some_numbers), other, weights(all, some_numbers));
    }
    return z;
  }

  // a [j1; j2, some k0, 2]
  View first_product(const std::vector<Parts>& data) const {
    const View a = k.sbuf({n1, n2, kept, 2}, f32);
    for (const Piece& g : even_pieces(n2, in_a_bank(n2, 2 * kept))) {
      const View sum = bank(n1, g.size * 2 * kept);
      warm_up.before(sum(all, ds(0, 2 * kept)));
      for (std::int64_t i = 0; i < g.size; ++i)
        multiply(
            sum(all, ds(i * 2 * kept, 2 * kept)), data, first, [&](const View& v) { return v.select(2, g.start + i); },
            2 * first_k0);
      const View to = a(all, ds(g.start, g.size)),
                 w = inner(all, ds(first_k0, kept)).expand_dim(1).broadcast(1, g.size);
      if (g.start + g.size < n2)
        twiddle(to, sum, w);
      else
        twiddle_in_halves(to, sum, w, together);
    }
    return a;
  }

  std::int64_t size_of_block(std::int64_t block) const { return std::min(together, kept - block * together); }

  // b [k0 of a block, j2; blocks, k1, 2]
  View second_product(const View& a) const {
    const View b = k.sbuf({together * n2, some.size, n1, 2}, f32);
    const std::vector<Parts> data = numbers(a);
    const std::int64_t at_once = in_a_bank(some.size, 2 * n1);
    const View factors = outer.reshape_dim(1, {f.blocks(), n1})(all, ds(some.start, some.size));
    for (std::int64_t block = 0; block < some.size;) {
      const std::int64_t size = size_of_block(block), rows = size * n2;
      const std::int64_t most = std::min(at_once, size == together ? kept / together - block : 1);
      const View sum = bank(rows, most * 2 * n1);
      for (std::int64_t i = 0; i < most; ++i)
        multiply(sum(all, ds(i * 2 * n1, 2 * n1)), data, second, [&](const View& v) {
          return v(all, all, ds((block + i) * together, size)).permute({0, 2, 1});
        });
      twiddle(b(ds(0, rows), ds(block, most)), sum, factors(ds(0, rows), ds(block, most)));
      block += most;
    }
    return b;
  }

  // Sums [k1; k0 of a block, k2, 2] of each block.
  void third_product(const View& b, const std::function<void(const Piece&, const View&)>& away) const {
    for (std::int64_t block = 0; block < some.size; ++block) {
      const std::int64_t size = size_of_block(block), rows = size * n2;
      const View sum = bank(n1, 2 * rows);
      multiply(sum, numbers(b(ds(0, rows), ds(block, 1)).flatten_dims(1, 2)), third, [](const View& v) { return v; });
      away({block * together, size}, sum);
    }
  }

  void run(const std::vector<Parts>& x, const View& y, const Index& row) const {
    if (real)
      run_real(x, y, row);
    else if (parts_go)
      run_to_parts(x, y, row);
    else
      run_whole(x, y(ds(row, 1)));
  }

  // Where results of a row lie, [k1, k2, numbers from the first k0 on].
  View places(const View& y, std::int64_t parts) const {
    const View all_places = y.reshape_dim(1, {n2, n1, parts * n0}).flatten_dims(0, 1).permute({1, 0, 2});
    return all_places(all, all, ds(parts * first_k0, parts * kept));
  }
  void run_whole(const std::vector<Parts>& x, const View& y) const {
    // The first half is stored while the other one is made, where runs in HBM stay long.
    constexpr std::int64_t kLongRun = 64;
    const std::int64_t blocks = some.size, half = kept / 2 >= kLongRun && !goes_on ? (blocks + 1) / 2 * together : kept;
    const View out = k.sbuf({n1, n2, kept, 2}, f32);
    const auto store = [&](const Piece& k0) {
      const View from = out(all, all, ds(k0.start, k0.size)).flatten_dims(2, 3);
      k.dma_copy({.dst = places(y, 2)(all, all, ds(2 * k0.start, 2 * k0.size)), .src = from});
    };
    third_product(second_product(first_product(x)), [&](const Piece& k0, const View& sum) {
      const View to = out(all, all, ds(k0.start, k0.size)).permute({0, 2, 1, 3});
      evict(k, to, sum.reshape_dim(1, {k0.size, n2, 2}), 1);
      if (k0.start + k0.size == half) store({0, half});
    });
    if (half < kept) store({half, kept - half});
  }
  void run_to_parts(const std::vector<Parts>& x, const View& y, const Index& row) const {
    const View out[] = {k.sbuf({n1, n2, kept}, f32), k.sbuf({n1, n2, kept}, f32)};
    third_product(second_product(first_product(x)), [&](const Piece& k0, const View& sum) {
      for (int i = 0; i < 2; ++i) {
        const View to = out[i](all, all, ds(k0.start, k0.size)).permute({0, 2, 1});
        evict(k, to, component(sum.reshape_dim(1, {k0.size, n2, 2}), i), 1);
      }
    });
    for (int i = 0; i < 2; ++i) k.dma_copy({.dst = places(y(ds(row * 2 + i, 1)), 1), .src = out[i]});
  }

  // The k0 of some, counted from their first one, whose conjugates are results, too.
  Piece turned_of(const Piece& k0) const {
    const std::int64_t from = std::max<std::int64_t>(k0.start, 1 - first_k0);
    const std::int64_t end = std::min(k0.start + k0.size, n0 / 2 + 1 - first_k0);
    return {from, std::max<std::int64_t>(0, end - from)};
  }

  // Direct results of k2 < n2 / 2; of the others conjugates, in the other order of k0 and k2, and, when they are
  // stored, of k1. Of odd lengths the k2 in the middle has both: direct ones of the first k1, conjugates of the others.
  void run_real(const std::vector<Parts>& x, const View& y, const Index& row) const {
    const std::int64_t half = n2 / 2, columns = (n2 + 1) / 2;
    const Piece turned = turned_of({0, kept});
    // k0 = n0 / 2 is its own conjugate.
    const std::int64_t straight = 2 * (first_k0 + kept - 1) == n0 ? kept - 1 : kept;
    const View direct = k.sbuf({n1, columns, std::max<std::int64_t>(1, straight), 2}, f32),
               middle = k.sbuf({1, 2}, f32);
    const View mirrored = k.sbuf({n1, columns, std::max<std::int64_t>(1, turned.size), 2}, f32);
    const bool has_middle = first_k0 == 0 && n2 % 2 == 0;
    if (has_middle) k.memset({.dst = middle, .value = 0.0, .engine = Engine::gpsimd});
    third_product(second_product(first_product(x)), [&](const Piece& k0, const View& sum) {
      if (const std::int64_t size = std::min(k0.size, straight - k0.start); size > 0) {
        const View to = direct(all, all, ds(k0.start, size)).permute({0, 2, 1, 3});
        evict(k, to, sum.reshape_dim(1, {k0.size, n2, 2})(all, ds(0, size), ds(0, columns)), 1);
      }
      if (has_middle && k0.start == 0)
        k.tensor_copy({.dst = middle(all, ds(0, 1)), .src = sum(ds(0, 1), ds(2 * half, 1))});
      if (const Piece p = turned_of(k0); p.size > 0) turn(mirrored, sum, p, p.start - k0.start, turned);
      if (k0.start < straight && k0.start + k0.size >= straight) store_half(y, row, direct, 2 * n0, first_k0);
    });
    if (turned.size > 0) store_half(y, row, mirrored, -2 * n0, n0 * n1 + 1 - first_k0 - turned.start - turned.size);
    if (has_middle) k.dma_copy({.dst = y(ds(row, 1), ds(f.n(), 2)), .src = middle});
  }

  // Numbers [k1; k2 < n2 / 2, k0, 2] and, of odd lengths, half of those of the k2 in the middle, `step` floats from one
  // k1 to the next.
  void store_half(const View& y, const Index& row, const View& from, std::int64_t step, std::int64_t first) const {
    const std::int64_t half = n2 / 2, count = 2 * from.dim(2);
    const auto places = [&](std::int64_t k1, std::int64_t k1s, std::int64_t k2, std::int64_t k2s) {
      return y.ap({{step, k1s}, {2 * n0 * n1, k2s}, {1, count}},
                  row * y.stride(0) + (y.offset() + 2 * first + step * k1 + 2 * n0 * n1 * k2));
    };
    if (half > 0) k.dma_copy({.dst = places(0, n1, 0, half), .src = from(all, ds(0, half)).flatten_dims(2, 3)});
    if (n2 % 2 == 0) return;
    const std::int64_t some = step > 0 ? (n1 + 1) / 2 : n1 / 2, k1 = step > 0 ? 0 : n1 - some;
    k.dma_copy({.dst = places(k1, some, half, 1), .src = from(ds(k1, some), ds(half, 1)).flatten_dims(2, 3)});
  }

  // Conjugates of some of the sums of a block, from its k0 `at` on.
  void turn(const View& mirrored, const View& sum, const Piece& k0, std::int64_t at, const Piece& turned) const {
    const std::int64_t columns = (n2 + 1) / 2, place = turned.start + turned.size - k0.start - k0.size;
    for (int i = 0; i < 2; ++i) {
      const View from = sum.ap({{kWide, n1}, {-2 * n2, k0.size}, {-2, columns}},
                               sum.offset() + (at + k0.size - 1) * 2 * n2 + 2 * (n2 - 1) + i);
      const View to = component(mirrored(all, all, ds(place, k0.size)), i).permute({0, 2, 1});
      if (i == 0)
        evict(k, to, from, k0.size == 1 ? 0 : 1);
      else
        k.activation({.dst = to, .op = ActFn::copy, .data = from, .scale = -1.0});
    }
  }
};

}  // namespace

std::int64_t OneTrip::together() const { return std::min(kept(), kTile / way.n2); }
std::int64_t OneTrip::blocks() const { return tiles_of(kept(), together()); }

bool is_possible(const OneTrip& f) {
  const Way& w = f.way;
  if (f.spectrum == Spectrum::forward && w.n2 % 2 == 1 && f.n() % 2 == 0) return false;
  return w.n0 >= 2 && w.n1 >= 2 && w.n2 >= 2 && w.n0 <= kTile && w.n1 <= kTile && w.n2 <= kTile;
}

double columns_of(const OneTrip& f) {
  static constexpr std::int64_t kLoaded = 192;  // columns that pass while an operand is loaded
  const std::int64_t parts = f.spectrum == Spectrum::forward ? 1 : 2;
  const auto product = [](std::int64_t operands, std::int64_t columns) {
    return static_cast<double>(operands * std::max(kLoaded, columns));
  };
  return product(parts * f.way.n2, 2 * f.kept()) + product(2 * f.blocks(), 2 * f.way.n1) +
         product(2 * f.blocks(), 2 * f.together() * f.way.n2);
}

Tables one_trip_tables(const OneTrip& f) {
  Tables tables = product_tables(f);
  if (f.spectrum == Spectrum::inverse) tables.push_back(weights_table(f));
  return tables;
}

// The first row comes before the tables, of which the first product needs but some. Rows between the first one and the
// last two are a loop.
static void run_rows(const OneTripRows& given, const View& x, const View& y, std::int64_t rows,
                     const OneTripSteps& steps) {
  OneTripRows trips = given;
  const auto before = [&](const Index& row) { return steps.before ? steps.before(row) : void(); };
  const auto after = [&](const Index& row) { return steps.after ? steps.after(row) : void(); };
  const auto run = [&](const Index& row) { trips.run(trips.load(x, row), y, row); };
  before(0);
  if (rows > 1) before(1);
  trips.finely = trips.f.way.finely && rows == 1;
  trips.load_weights();
  const std::vector<Parts> first = trips.load(x, 0);
  trips.load_tables();
  trips.run(first, y, 0);
  if (rows > 3) {
    trips.k.loop(1, rows - 2, 1, [&](Index row) {
      before(row + 1);
      run(row);
      after(row - 1);
    });
  }
  for (std::int64_t row = std::max<std::int64_t>(1, rows - 2); row < rows; ++row) {
    if (row + 1 < rows) before(row + 1);
    trips.finely = trips.f.way.finely && row + 1 == rows;
    run(row);
    after(row - 1);
  }
  after(rows - 1);
}

void one_trip(Kernel& k, const OneTrip& f, const View& x, const View& y, std::int64_t rows, const OneTripSteps& steps) {
  run_rows(OneTripRows(k, f, {0, f.blocks()}, steps), x, y, rows, steps);
}

void one_trip(Kernel& k, const OneTrip& f, const View& x, const View& y) { one_trip(k, f, x, y, y.dim(0), {}); }

void one_trip_on_core(Kernel& k, const OneTrip& f, const View& x, const View& y, int core) {
  run_rows(OneTripRows(k, f, share_of(f.blocks(), core)), x, y, 1, {});
}

}  // namespace kiln::kernels
