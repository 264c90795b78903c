#include "kernels/fft/tangle.h"

#include <algorithm>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/core_share.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kPairWidth = 512;  // pairs of a partition at once
constexpr std::int64_t kFewTangled = 16;  // fewer rows lie along the partitions with parts of theirs

// Tiles of numbers, [partitions, width, 2]; the upper ones lie as in memory, k falling.
struct Pairs {
  View lower, upper, weights;
};

struct Tangler {
  Kernel& k;
  const TangleConfig& c;
  View x, y, table;

  View tile(std::int64_t rows, std::int64_t width) const { return k.sbuf({rows, width, 2}, f32); }
  void two(AluOp op, const View& to, const View& a, const View& b, Engine engine) const {
    k.tensor_tensor({.dst = to, .data1 = a, .data2 = b, .op = op, .engine = engine});
  }

  // (S, D) as four numbers for each pair.
  View sums(const View& lower, const View& other) const {
    const std::int64_t rows = lower.dim(0), width = lower.dim(1);
    const View sums = k.sbuf({rows, width, 4}, f32);
    const auto slots = [&](std::int64_t first, std::int64_t step) {
      return sums.ap({{4 * width, rows}, {4, width}, {step, 2}}, first);
    };
    two(AluOp::add, slots(0, 3), lower, other, Engine::vector);        // real part of S, imaginary one of D
    two(AluOp::subtract, slots(2, -1), lower, other, Engine::gpsimd);  // real part of D, imaginary one of S
    return sums;
  }

  // w D
  View weighed(const View& sums, const View& weights) const {
    const std::int64_t rows = sums.dim(0), width = sums.dim(1);
    const View straight = tile(rows, width), turned = tile(rows, width), out = tile(rows, width);
    const auto both = [&](int i) { return component(weights, i).expand_dim(2).broadcast(2, 2); };
    two(AluOp::multiply, straight, sums(all, all, ds(2, 2)), both(0), Engine::vector);
    two(AluOp::multiply, turned, sums.ap({{4 * width, rows}, {4, width}, {-1, 2}}, 3), both(1), Engine::vector);
    two(AluOp::subtract, component(out, 0), component(straight, 0), component(turned, 0), Engine::gpsimd);
    two(AluOp::add, component(out, 1), component(straight, 1), component(turned, 1), Engine::gpsimd);
    return out;
  }

  // (y(k), y(m - k)) of pairs.
  std::pair<View, View> results(const Pairs& p) const {
    const View s = sums(p.lower, backwards(p.upper)), w = weighed(s, p.weights), sum = s(all, all, ds(0, 2));
    const View lower = tile(s.dim(0), s.dim(1)), upper = tile(s.dim(0), s.dim(1)), other = backwards(upper);
    two(AluOp::add, lower, sum, w, Engine::vector);
    two(AluOp::subtract, component(other, 0), component(sum, 0), component(w, 0), Engine::gpsimd);
    two(AluOp::subtract, component(other, 1), component(w, 1), component(sum, 1), Engine::gpsimd);
    return {lower, upper};
  }

  // y(k) alone, of numbers x(k) and x(m - k) as k rises.
  void lower_results(const View& to, const View& lower, const View& other, const View& weights) const {
    const View s = sums(lower, other);
    two(AluOp::add, to, s(all, all, ds(0, 2)), weighed(s, weights), Engine::vector);
  }

  View loaded(const View& from) const {
    const View to = tile(from.dim(0), from.dim(1) / 2);
    k.dma_copy({.dst = to.flatten_dims(1, 2), .src = from});
    return to;
  }
  void store(const View& to, const View& from) const { k.dma_copy({.dst = to, .src = from.flatten_dims(1, 2)}); }

  // Pairs `first` … of some rows, rows on the partitions.
  void by_rows(const Index& row, std::int64_t rows, const Index& first, std::int64_t width) const {
    const Slice lower = ds(first * 2, 2 * width), upper = ds((first * -2) + 2 * (c.m - width + 1), 2 * width);
    const Slice some = ds(row, rows);
    const auto [a, b] =
        results({loaded(x(some, lower)), loaded(x(some, upper)), loaded(table(all, lower).broadcast(0, rows))});
    store(y(some, lower), a);
    store(y(some, upper), b);
  }

  // Pairs from `first` on of one row, `width` of them on each of some partitions.
  void along(const Index& row, const Index& first, std::int64_t partitions, std::int64_t width) const {
    const auto from = [&](const View& v, const Index& at, std::int64_t step) {
      return v.ap({{2 * step, partitions}, {1, 2 * width}}, row * v.stride(0) + v.offset() + at * 2);
    };
    const Index last = (first * -1) + (c.m - width + 1);
    const View weights = table.ap({{2 * width, partitions}, {1, 2 * width}}, first * 2);
    const auto [a, b] = results({loaded(from(x, first, width)), loaded(from(x, last, -width)), loaded(weights)});
    store(from(y, first, width), a);
    store(from(y, last, -width), b);
  }

  // The same for all of some pairs.
  void some_of_row(const Index& row, const Piece& pairs) const {
    if (pairs.size == 0) return;
    const std::int64_t w = std::clamp<std::int64_t>(pairs.size / kTile, 1, kPairWidth), pieces = pairs.size / w;
    k.tiles(pieces, std::min(kTile, pieces),
            [&](Index i, std::int64_t partitions) { along(row, i * w + (pairs.start + 1), partitions, w); });
    if (pairs.size % w) along(row, pairs.start + pieces * w + 1, 1, pairs.size % w);
  }

  // What is real stays so: its imaginary part, whatever it is, is not read.
  void clear_imaginary(const View& number) const {
    if (c.spectrum == Spectrum::inverse) k.memset({.dst = component(number, 1), .value = 0.0});
  }

  // k = 0, whose other number is m: the first one again in a spectrum of m numbers, and not there in its result.
  void ends() const {
    const std::int64_t last = c.spectrum == Spectrum::inverse ? c.m : 0;
    k.tiles(y.dim(0), kTile, [&](Index row, std::int64_t rows) {
      const auto at = [&](const View& v, std::int64_t i) { return v(ds(row, rows), ds(2 * i, 2)); };
      const Pairs p{loaded(at(x, 0)), loaded(at(x, last)), loaded(table(all, ds(0, 2)).broadcast(0, rows))};
      clear_imaginary(p.lower);
      clear_imaginary(p.upper);
      const auto [a, b] = results(p);
      store(at(y, 0), a);
      if (c.spectrum == Spectrum::forward) store(at(y, c.m), b);
    });
  }

  // k = m / 2, the other number of itself.
  void middle() const {
    const Slice at = ds(c.m, 2);
    k.tiles(y.dim(0), kTile, [&](Index row, std::int64_t rows) {
      const View number = loaded(x(ds(row, rows), at)), weights = loaded(table(all, at).broadcast(0, rows));
      store(y(ds(row, rows), at), results({number, number, weights}).first);
    });
  }
};

}  // namespace

Complex tangle_weight(const TangleConfig& c, std::int64_t k) {
  const bool backward = c.spectrum == Spectrum::inverse;
  return Complex(0, backward ? 1 : -1) * root(c.positive || backward ? k : -k, 2 * c.m);
}

Table tangle_table(const TangleConfig& c) {
  Table t("tangle", 1, 2 * (c.m / 2 + 1));
  for (std::int64_t k = 0; k <= c.m / 2; ++k) {
    const Complex w = tangle_weight(c, k);
    t(0, 2 * k) = static_cast<float>(w.real()), t(0, 2 * k + 1) = static_cast<float>(w.imag());
  }
  return t;
}

void tangle_tiles(Kernel& k, const TangleConfig& c, const View& to, const View& lower, const View& other,
                  const View& weights) {
  Tangler{k, c, {}, {}, {}}.lower_results(to, lower, other, weights);
}

void tangle(Kernel& k, const TangleConfig& c, const View& x, const View& y) {
  const Tangler t{k, c, x, y, k.input("tangle", {1, 2 * (c.m / 2 + 1)}, f32)};
  const std::int64_t rows = y.dim(0), pairs = c.pairs();
  t.ends();
  if (c.m % 2 == 0) t.middle();
  if (pairs == 0) return;
  if (rows >= kFewTangled) {
    k.tiles(rows, kTile, [&](Index row, std::int64_t some) {
      k.tiles(pairs, kPairWidth, [&](Index first, std::int64_t w) { t.by_rows(row, some, first + 1, w); });
    });
    return;
  }
  k.loop(rows, [&](Index row) { t.some_of_row(row, {0, pairs}); });
}

void tangle_on_core(Kernel& k, const TangleConfig& c, const View& x, const View& y, int core) {
  const Tangler t{k, c, x, y, k.input("tangle", {1, 2 * (c.m / 2 + 1)}, f32)};
  if (core == 0) t.ends();
  if (core == 1 && c.m % 2 == 0) t.middle();
  t.some_of_row(0, share_of(c.pairs(), core));
}

}  // namespace kiln::kernels
