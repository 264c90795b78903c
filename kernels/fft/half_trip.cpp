#include "kernels/fft/half_trip.h"

#include <algorithm>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/core_share.h"
#include "kernels/fft/trip_steps.h"
#include "kernels/fft/warm_up.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kQuadrant = 32;  // partitions: where an engine can begin

std::int64_t half_of(const HalfTrip& f) { return f.way.n1 / 2; }
// Of the k1 that come as they are: those and, of odd lengths, the one in the middle.
std::int64_t lower_of(const HalfTrip& f) { return (f.way.n1 + 1) / 2; }
// The partition where the other half of k1 begins.
std::int64_t upper_of(const HalfTrip& f) { return tiles_of(lower_of(f), kQuadrant) * kQuadrant; }
std::int64_t used_of(const HalfTrip& f) { return upper_of(f) + half_of(f); }

// Rows of the first table stand where their numbers do; those of conjugates have the other sign.
void add_first_tables(Tables& tables, const HalfTrip& f) {
  const std::int64_t lower = lower_of(f), upper = upper_of(f), n1 = f.way.n1;
  for (const bool imaginary : {false, true}) {
    tables.push_back(pairs_table(imaginary ? "half_first_im" : "half_first_re", used_of(f), n1,
                                 [&](std::int64_t row, std::int64_t j1) {
                                   if (row >= lower && row < upper) return Complex(0);
                                   const std::int64_t k1 = row < lower ? row : n1 - 1 - (row - upper);
                                   const Complex w = root(product_mod(j1, k1, n1), n1);
                                   return imaginary ? Complex(0, row < lower ? 1 : -1) * w : w;
                                 }));
  }
}

// Both parts of numbers to real results.
void add_third_tables(Tables& tables, const HalfTrip& f) {
  const std::int64_t n0 = f.way.n0, kept = f.kept(), together = f.together();
  Table re("half_third_re", together * kept, together * n0), im("half_third_im", together * kept, together * n0);
  for (std::int64_t j1 = 0; j1 < together; ++j1) {
    for (std::int64_t k0 = 0; k0 < kept; ++k0) {
      for (std::int64_t j0 = 0; j0 < n0; ++j0) {
        const Complex w = 2 * f.scale * root(product_mod(j0, k0, n0), n0);
        re(j1 * kept + k0, j1 * n0 + j0) = static_cast<float>(w.real());
        im(j1 * kept + k0, j1 * n0 + j0) = static_cast<float>(-w.imag());
      }
    }
  }
  tables.push_back(std::move(re));
  tables.push_back(std::move(im));
}

struct HalfTripRows : TripSteps {
  const HalfTrip& f;
  WarmUp warm_up;
  Piece some;  // of the blocks
  std::int64_t n0 = f.way.n0, n1 = f.way.n1, n2 = f.way.n2, kept = f.kept(), together = f.together();
  std::int64_t half = half_of(f), lower = lower_of(f), upper = upper_of(f), used = used_of(f);
  std::int64_t gap = lower / kQuadrant * kQuadrant;  // from here on up to `upper` partitions are cleared
  std::int64_t first_j1 = some.start * together, many = std::min(n1 - first_j1, some.size*together);
  std::vector<Parts> first = {}, second = {}, third = {};
  View inner = {}, outer = {};  // factors behind the first product and the second one, as pairs

  HalfTripRows(Kernel& kernel, const HalfTrip& config, const Piece& blocks)
      : TripSteps{kernel, config.precision, false}, f(config), warm_up(kernel, config.way.warm_up), some(blocks) {}

  // Behind those of the first product comes what it waits for longest.
  void load_tables(const std::function<void()>& between) {
    constexpr std::size_t kFirst = 3;
    std::vector<View> tiles;
    for (const Table& t : half_trip_tables(f)) {
      if (tiles.size() == kFirst) between();
      tiles.push_back(resident(k, t.name, t.rows, t.columns));
    }
    std::size_t next = 0;
    first = products(tiles, next, false), inner = factors(tiles, next);
    second = products(tiles, next, false), outer = factors(tiles, next);
    third = products(tiles, next, false);
  }

  // Numbers of a row as they come, [k1; k2, k0, 2]. All DMA engines take part where the second half of the k2 comes to
  // the partitions from `upper` on.
  bool is_on_both_sides() const {
    return lower == half && half == upper && n2 % 2 == 0 && precision == Precision::native;
  }
  struct Loaded {
    View tile, middle;  // of odd lengths: the k1 in the middle, [1; k2, k0, 2]
  };
  Loaded load(const View& x, const Index& row) const {
    const View tile = k.sbuf({used, n2, n0, 2}, f32);
    const std::int64_t width = 2 * n0 * n2, sides = is_on_both_sides() ? 2 : 1;
    const View middle = lower > half ? load_middle(x, row) : View();
    clear(tile);
    const auto load_some = [&](const Piece& k1, std::int64_t side) {
      const View from = x.ap({{width, k1.size}, {1, width / sides}},
                             row * x.stride(0) + (x.offset() + k1.start * width + side * width / sides));
      const View to = tile(ds(side * upper + k1.start, k1.size), ds(0, n2 / sides));
      k.dma_copy({.dst = to.flatten_dims(1, 3), .src = from});
    };
    // What does not wait for the zeros comes first.
    const std::int64_t early = lower < upper && gap > 0 ? std::min(gap, half) : half;
    for (std::int64_t side = 0; side < sides; ++side) load_some({0, early}, side);
    if (early < half) load_some({early, half - early}, 0);
    return {tile, middle};
  }
  // Numbers of half a spectrum, k0 < n0 / 2, then conjugates of such ones.
  View load_middle(const View& x, const Index& row) const {
    const std::int64_t middle = n2 / 2, loaded = 2 * (n0 * middle + kept), width = 2 * n0 * n2;
    const View run = k.sbuf({1, n2, n0, 2}, f32);
    k.dma_copy(
        {.dst = run.ap({{width, 1}, {1, loaded}}, run.offset()), .src = x(ds(row, 1), ds(half * width, loaded))});
    const auto late = [&](std::int64_t k0, std::int64_t count) {
      return run(all, ds(middle + 1, middle), ds(k0, count));
    };
    zero(late(0, 1));
    for (int i = 0; i < 2; ++i) {
      const View from =
          run.ap({{width, 1}, {-2 * n0, middle}, {-2, kept - 1}}, run.offset() + 2 * (n0 * middle - 1) + i);
      k.activation(
          {.dst = component(late(1, kept - 1), i), .op = ActFn::copy, .data = from, .scale = i == 0 ? 1.0 : -1.0});
    }
    return run(all, all, ds(0, kept));
  }
  // What is read and not loaded: zeros. Operands that are split are read as a whole.
  void clear(const View& tile) const {
    const std::int64_t first = lower > half ? 1 : 0, last = (n0 - 1) / 2;
    if (precision != Precision::native)
      zero(tile);
    else if (lower < upper)
      zero(tile(ds(gap, upper - gap), all, ds(first, last + 1 - first)));
  }
  void zero(const View& v) const { k.memset({.dst = v, .value = 0.0, .engine = Engine::vector}); }

  // The first product's operands: numbers x(n - k) from partition `upper` on, k1 falling, at the place of k, in pieces
  // for the engines.
  void place_middle(const Loaded& loaded) const {
    if (lower > half) k.dma_copy({.dst = loaded.tile(ds(half, 1), all, ds(0, kept)), .src = loaded.middle});
  }
  std::vector<Parts> operands(const Loaded& loaded, const View& x, const Index& row) const {
    const View& tile = loaded.tile;
    std::size_t turns = 0;
    if (is_on_both_sides())
      for (std::int64_t k0 = kept - 1; k0 >= 0; --k0) bring_down(tile, k0, turns++);
    load_ends(tile, x, row);
    for (std::int64_t k0 = (n0 - 1) / 2; k0 >= 1; --k0) {
      if (!is_on_both_sides()) {
        turn(tile, k0, {0, n2}, 0, n2, turns++);
        continue;
      }
      turn(tile, k0, {0, n2 / 2}, upper, n2 / 2, turns++);
      turn(tile, k0, {n2 / 2, n2 / 2}, 0, n2 / 2, turns++);
    }
    return numbers(tile);
  }
  View column(const View& tile, std::int64_t first, std::int64_t k0, const Piece& k2) const {
    return tile(ds(first, half), ds(k2.start, k2.size)).select(2, k0);
  }
  void bring_down(const View& tile, std::int64_t k0, std::size_t engine) const {
    evict(k, column(tile, 0, k0, {n2 / 2, n2 / 2}), column(tile, upper, k0, {0, n2 / 2}), engine);
  }
  // Numbers that go back to before k2 `last` on the partitions from `first` on.
  void turn(const View& tile, std::int64_t k0, const Piece& k2, std::int64_t first, std::int64_t last,
            std::size_t engine) const {
    const std::int64_t width = 2 * n0 * n2;
    const View from =
        tile.ap({{width, half}, {-2 * n0, k2.size}, {1, 2}}, tile.offset() + first * width + 2 * (n0 * last - k0));
    evict(k, column(tile, upper, k0, k2), from, engine);
  }
  // The first number and the middle one, which is the last of k0 = 0, count half as much as the others, and as real
  // ones.
  void load_ends(const View& tile, const View& x, const Index& row) const {
    const auto numbers_at = [&](std::int64_t partition, std::int64_t count, int part) {
      return component(tile(ds(partition, count), ds(0, 1), ds(0, 1)).flatten_dims(1, 2), part);
    };
    const auto halve = [&](const View& v) { k.activation({.dst = v, .op = ActFn::copy, .data = v, .scale = 0.5}); };
    zero(numbers_at(0, 1, 1));
    halve(numbers_at(0, 1, 0));
    if (lower > half) return;
    zero(column(tile, upper, 0, {0, n2}));
    k.dma_copy({.dst = numbers_at(used - 1, 1, 0), .src = x(ds(row, 1), ds(f.n(), 1))});
    halve(numbers_at(upper, half, 0));
  }

  std::int64_t rows_of(std::int64_t k0) const { return 2 * k0 == n0 ? half : k0 == 0 && lower > half ? lower : used; }

  // a [k2; k0, some j1, 2]; first those that wait for least.
  View first_product(const std::vector<Parts>& data) const {
    const View a = k.sbuf({n2, kept, many, 2}, f32);
    std::vector<Piece> groups = even_pieces(kept, in_a_bank(kept, 2 * many));
    std::reverse(groups.begin(), groups.end());
    for (const Piece& g : groups) {
      const View sum = bank(n2, g.size * 2 * many);
      warm_up.before(sum(all, ds((g.size - 1) * 2 * many, 2 * many)));
      for (std::int64_t i = g.size - 1; i >= 0; --i)
        multiply(
            sum(all, ds(i * 2 * many, 2 * many)), data, first,
            [&](const View& v) { return v(ds(0, rows_of(g.start + i))).select(2, g.start + i); }, 2 * first_j1);
      const View to = a(all, ds(g.start, g.size)),
                 w = inner(all, ds(first_j1, many)).expand_dim(1).broadcast(1, g.size);
      if (g.start > 0)
        twiddle(to, sum, w);
      else
        twiddle_in_halves(to, sum, w, together);
    }
    return a;
  }

  std::int64_t size_of_block(std::int64_t block) const { return std::min(together, many - block * together); }

  // b [j1 of a block, k0; blocks, j2, 2]
  View second_product(const View& a) const {
    const View b = k.sbuf({together * kept, some.size, n2, 2}, f32);
    const std::vector<Parts> data = numbers(a);
    const std::int64_t at_once = in_a_bank(some.size, 2 * n2);
    const View factors = outer.reshape_dim(1, {f.blocks(), n2})(all, ds(some.start, some.size));
    for (std::int64_t block = 0; block < some.size;) {
      const std::int64_t size = size_of_block(block), rows = size * kept;
      const std::int64_t most = std::min(at_once, size == together ? many / together - block : 1);
      const View sum = bank(rows, most * 2 * n2);
      for (std::int64_t i = 0; i < most; ++i)
        multiply(sum(all, ds(i * 2 * n2, 2 * n2)), data, second, [&](const View& v) {
          return v(all, all, ds((block + i) * together, size)).permute({0, 2, 1});
        });
      twiddle(b(ds(0, rows), ds(block, most)), sum, factors(ds(0, rows), ds(block, most)));
      block += most;
    }
    return b;
  }

  // Real results [j2; j0, some j1].
  void third_product(const View& b, const View& out) const {
    for (std::int64_t block = 0; block < some.size; ++block) {
      const std::int64_t size = size_of_block(block);
      const View sum = bank(n2, size * n0);
      multiply(sum, numbers(b(ds(0, size * kept), ds(block, 1)).flatten_dims(1, 2)), third,
               [](const View& v) { return v; });
      const View to = out(all, all, ds(block * together, size)).permute({0, 2, 1});
      evict(k, to, sum.reshape_dim(1, {size, n0}), 1);
    }
  }

  void run(const std::vector<Parts>& x, const View& y, const Index& row) const {
    const View out = k.sbuf({n2, n0, many}, f32);
    third_product(second_product(first_product(x)), out);
    const View places = y.ap({{n1, n2}, {n1 * n2, n0}, {1, many}}, row * y.stride(0) + (y.offset() + first_j1));
    k.dma_copy({.dst = places, .src = out});
  }
};

// The first row comes before the tables.
void run_rows(HalfTripRows trips, const View& x, const View& y, std::int64_t rows) {
  trips.finely = trips.f.way.finely && rows == 1;
  const HalfTripRows::Loaded first = trips.load(x, 0);
  trips.load_tables([&] { trips.place_middle(first); });
  trips.run(trips.operands(first, x, 0), y, 0);
  const auto run = [&](const Index& row) {
    const HalfTripRows::Loaded loaded = trips.load(x, row);
    trips.place_middle(loaded);
    trips.run(trips.operands(loaded, x, row), y, row);
  };
  if (rows > 2) trips.k.loop(1, rows - 1, 1, run);
  trips.finely = trips.f.way.finely;
  if (rows > 1) run(rows - 1);
}

}  // namespace

std::int64_t HalfTrip::together() const {
  const std::int64_t room = std::min(way.n1, kTile / kept());
  return tiles_of(way.n1, tiles_of(way.n1, room));
}
std::int64_t HalfTrip::blocks() const { return tiles_of(way.n1, together()); }

bool is_possible(const HalfTrip& f) {
  const Way& w = f.way;
  return w.n0 >= 3 && w.n1 >= 2 && w.n2 >= 2 && w.n0 <= kTile && w.n1 <= kTile && w.n2 <= kTile &&
         (w.n1 % 2 == 0 || f.n() % 2 == 1);
}

double columns_of(const HalfTrip& f) {
  static constexpr std::int64_t kLoaded = 192;  // columns that pass while an operand is loaded
  const auto product = [](std::int64_t operands, std::int64_t columns) {
    return static_cast<double>(2 * operands * std::max(kLoaded, columns));
  };
  return product(f.kept(), 2 * f.way.n1) + product(f.blocks(), 2 * f.way.n2) +
         product(f.blocks(), f.together() * f.way.n0);
}

// In the order in which they are needed.
Tables half_trip_tables(const HalfTrip& f) {
  const std::int64_t n1 = f.way.n1, n2 = f.way.n2, kept = f.kept(), together = f.together();
  Tables tables;
  add_first_tables(tables, f);
  tables.push_back(pairs_table("half_inner", n2, n1, [&](std::int64_t k2, std::int64_t j1) {
    return root(product_mod(k2, j1, n1 * n2), n1 * n2);
  }));
  add_product_tables(tables, "half_second", n2, n2, false,
                     [&](std::int64_t k2, std::int64_t j2) { return root(product_mod(k2, j2, n2), n2); });
  tables.push_back(
      pairs_table("half_outer", together * kept, f.blocks() * n2, [&](std::int64_t row, std::int64_t column) {
        const std::int64_t j1 = column / n2 * together + row / kept, j2 = column % n2;
        return root(product_mod(row % kept, j1 + n1 * j2, f.n()), f.n());
      }));
  add_third_tables(tables, f);
  return tables;
}

void half_trip(Kernel& k, const HalfTrip& f, const View& x, const View& y) {
  run_rows(HalfTripRows(k, f, {0, f.blocks()}), x, y, y.dim(0));
}

void half_trip_on_core(Kernel& k, const HalfTrip& f, const View& x, const View& y, int core) {
  run_rows(HalfTripRows(k, f, share_of(f.blocks(), core)), x, y, 1);
}

}  // namespace kiln::kernels
