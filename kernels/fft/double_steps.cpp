#include "kernels/fft/double_steps.h"

#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kColumns = 256;  // of results that are multiplied with twiddles at once
constexpr int kSlices = 7;              // numbers are far below 1, so that what six leave out is much

using Step = DoubleFactors::Step;

DoubleView part(const DoubleView& tile, const Slice& columns) {
  return {tile.high(all, columns), tile.low(all, columns)};
}

// A function of both views of numbers.
template <class Change>
DoubleView changed(const DoubleView& v, Change&& change) {
  return {change(v.high), change(v.low)};
}

struct Steps {
  Kernel& k;
  const DoubleFactors& f;
  std::int64_t rows;
  DoubleFloat math{k, kTile, kColumns};

  DoubleView matrix(std::size_t i) const {
    const std::int64_t n = f.steps()[i].n;
    return double_input(k, f.name("matrix", i), {2 * n, 2 * n});
  }
  DoubleView twiddles(std::size_t i) const {
    return double_input(k, f.name("twiddles", i), {f.steps()[i].rest, 2 * f.steps()[i].n});
  }
  DoubleView loaded(const DoubleView& from) const {
    return changed(from, [&](const View& v) {
      const View to = k.sbuf(v.shape(), f32);
      k.dma_copy({.dst = to, .src = v});
      return to;
    });
  }
  void store(const DoubleView& to, const DoubleView& from) const {
    k.dma_copy({.dst = to.high, .src = from.high});
    k.dma_copy({.dst = to.low, .src = from.low});
  }

  // A length that is one factor: all rows times its matrix.
  void direct(const DoubleView& x, const DoubleView& y) const {
    DoubleLoops(k, {.m = rows, .n = 2 * f.n(), .k = 2 * f.n(), .slices = kSlices, .orders = kSlices}, x, matrix(0))
        .run(y);
  }

  // x [rows, 2 n] to [part, J][row, k1]. Short rows share the partitions.
  void turn(const DoubleView& x, const DoubleView& to) {
    const Step& s = f.steps()[0];
    const DoubleView turns = twiddles(0);
    DoubleLoops loops(k, {.m = s.rest, .n = 2 * s.n, .k = 2 * s.n, .slices = kSlices, .orders = kSlices}, x, matrix(0));
    const DoubleLoops::Slices w = loops.sliced_b(0, 2 * s.n);
    k.tiles(s.rest, kTile, [&](Index first, std::int64_t each) {
      const std::int64_t at_once = std::clamp<std::int64_t>(kTile / each, 1, rows);
      const DoubleView turn = repeated(turns, first, each, at_once);
      k.tiles(rows, at_once, [&](Index row, std::int64_t many) {
        const DoubleLoops::Slices data = loops.sliced(loaded_rows(x, s, row, many, first, each));
        const DoubleView z = loops.block(0, many * each, 0, 2 * s.n, {&data, &w});
        const auto used = [&](const View& v) { return v(ds(0, many * each)); };
        const DoubleComplex turned = times(math, parts_of(z, s.n), parts_of(changed(turn, used), s.n));
        for (int p = 0; p < 2; ++p) {
          const auto place = [&](const View& v) {
            return v.reshape({2, s.rest, rows, s.n})(p, ds(first, each), ds(row, many)).permute({1, 0, 2});
          };
          store(changed(to, place), p == 0 ? turned.re : turned.im);
        }
      });
    });
  }
  // Twiddles of some J, for `copies` rows.
  DoubleView repeated(const DoubleView& turns, const Index& first, std::int64_t each, std::int64_t copies) const {
    return changed(turns, [&](const View& v) {
      const View to = k.sbuf({copies * each, v.dim(1)}, f32);
      for (std::int64_t i = 0; i < copies; ++i) k.dma_copy({.dst = to(ds(i * each, each)), .src = v(ds(first, each))});
      return to;
    });
  }
  // Numbers J of some rows side by side, (part, j1) along the partitions: [128, tiles, rows J].
  DoubleView loaded_rows(const DoubleView& x, const Step& s, const Index& row, std::int64_t many, const Index& first,
                         std::int64_t each) const {
    return changed(x, [&](const View& v) {
      const View to = chunk_tile(k, 2 * s.n, many * each, f32);
      const View planes = v.reshape_dim(1, {2 * s.n, s.rest});
      for (const Piece& piece : whole_pieces(2 * s.n, kTile)) {
        const View tile = to(ds(0, piece.size), piece.start / kTile).reshape_dim(1, {many, each});
        k.dma_copy({.dst = tile,
                    .src = planes(ds(row, many), ds(piece.start, piece.size), ds(first, each)).permute({1, 0, 2})});
      }
      return to;
    });
  }
  static DoubleComplex parts_of(const DoubleView& z, std::int64_t n) { return {part(z, ds(0, n)), part(z, ds(n, n))}; }

  // [part, j][J, row, k] to [part, J][row, kt, k], or to y [rows, 2 n].
  void columns(std::size_t i, const DoubleView& from, const DoubleView& to) {
    const Step& s = f.steps()[i];
    const bool is_last = s.rest == 1;
    const std::int64_t width = rows * s.before;
    const DoubleGemmConfig c{
        .m = 2 * s.n, .n = s.rest * width, .k = 2 * s.n, .trans_a = true, .slices = kSlices, .orders = kSlices};
    const DoubleView data = changed(from, [&](const View& v) { return v.reshape({2 * s.n, s.rest * width}); });
    DoubleLoops loops(k, c, matrix(i), data);
    const DoubleLoops::Slices a = loops.sliced_a();
    const DoubleView turns = is_last ? DoubleView{} : twiddles(i);
    k.loop(s.rest, [&](Index j) {
      groups(s, is_last, [&](const Index& row, std::int64_t many, const Index& column, std::int64_t size) {
        const Index first = j * width + row * s.before + column;
        const DoubleLoops::Slices b = loops.sliced_b(first, many * size);
        const auto block = [&](const Index& m0, std::int64_t m) {
          return loops.block(m0, m, first, many * size, {&a, &b});
        };
        const auto keep = [&](const DoubleView& found, std::int64_t p, const Index& k0, std::int64_t results) {
          const auto place = [&](const View& v) {
            return planes(v, s)(p, j, ds(row, many), ds(k0, results), ds(column, size)).permute({1, 0, 2});
          };
          store(changed(to, place), changed(found, [&](const View& v) { return v.reshape_dim(1, {many, size}); }));
        };
        if (is_last)  // both planes are one
          return k.tiles(2 * s.n, kTile, [&](Index k0, std::int64_t m) { keep(block(k0, m), 0, k0, m); });
        k.tiles(s.n, kTile, [&](Index k0, std::int64_t m) {
          const DoubleComplex z =
              times(math, {block(k0, m), block(k0 + s.n, m)}, turn_of(turns, s, j, k0, m, many * size));
          keep(z.re, 0, k0, m), keep(z.im, 1, k0, m);
        });
      });
    });
  }
  // Where results lie: [part, J, row, kt, k].
  View planes(const View& v, const Step& s) const {
    if (s.rest > 1) return v.reshape({2, s.rest, rows, s.n, s.before});
    return v.reshape({1, 1, rows, 2 * s.n, s.before});
  }

  // Columns that are computed together: whole rows, `before` numbers each, or a part of one.
  void groups(const Step& s, bool is_last,
              const std::function<void(const Index&, std::int64_t, const Index&, std::int64_t)>& body) const {
    const std::int64_t most = is_last ? kWide : kColumns, at_once = std::max<std::int64_t>(1, most / s.before);
    k.tiles(rows, at_once, [&](Index row, std::int64_t many) {
      k.tiles(s.before, most, [&](Index column, std::int64_t size) { body(row, many, column, size); });
    });
  }

  // One number for each result of a factor, as columns of equal ones.
  DoubleComplex turn_of(const DoubleView& turns, const Step& s, const Index& j, const Index& k0, std::int64_t results,
                        std::int64_t columns) {
    const auto plane = [&](std::int64_t p) {
      const auto column = [&](const View& v) { return v(ds(j, 1), ds(k0 + p * s.n, results)).reshape({results, 1}); };
      return math.spread(loaded(changed(turns, column)), columns);
    };
    return {plane(0), plane(1)};
  }
};

}  // namespace

DoubleView double_input(Kernel& k, const std::string& name, const Shape& shape) {
  const View high = k.input(name + "0", shape, f32);
  return {high, k.input(name + "1", shape, f32)};
}
DoubleView double_hbm(Kernel& k, const Shape& shape) {
  const View high = k.hbm(shape, f32);
  return {high, k.hbm(shape, f32)};
}

void double_steps(Kernel& k, const DoubleFactors& f, const DoubleView& x, const DoubleView& y) {
  Steps steps{k, f, x.high.dim(0)};
  const std::size_t count = f.steps().size();
  if (count == 1) return steps.direct(x, y);
  DoubleView from = x;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t rest = f.steps()[i].rest;
    const DoubleView to = i + 1 == count ? y : double_hbm(k, {2 * rest, steps.rows * (f.n() / rest)});
    if (i == 0)
      steps.turn(from, to);
    else
      steps.columns(i, from, to);
    from = to;
  }
}

}  // namespace kiln::kernels
