#include "kernels/fft/long_real.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/blas/split.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/warm_up.h"

namespace kiln::kernels {
using namespace isa;

namespace {

Complex phase_of(const LongReal& f, std::int64_t k, std::int64_t n) {
  return root(f.positive || f.spectrum == Spectrum::inverse ? k : -k, n);
}

// Real parts of phases, imaginary ones, and those with the other sign.
enum class PhasePart : std::uint8_t { cosine, sine, minus_sine };
Table phases(const std::string& name, std::int64_t rows, std::int64_t columns, PhasePart part,
             const std::function<Complex(std::int64_t, std::int64_t)>& phase) {
  Table t(name, rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const Complex w = phase(r, c);
      t(r, c) = static_cast<float>(part == PhasePart::cosine ? w.real()
                                   : part == PhasePart::sine ? w.imag()
                                                             : -w.imag());
    }
  }
  return t;
}

// The rows of one pass: as many as fill a bank of the second product.
std::int64_t rows_at_once(const LongReal& f) {
  return std::max<std::int64_t>(1, kWide / (f.spectrum == Spectrum::forward ? f.n1 : f.n2));
}

// Real parts and imaginary ones in tiles, or tables, of their own.
struct Planes {
  View re, im;
};

// Some rows of x on the chip: [j1, rows, j2], or [k2 of a piece, pieces, rows, k1, 2] and middle numbers [1, rows].
struct LongLoaded {
  View tile, middle;
};
LongLoaded load_long(Kernel& k, const LongReal& f, const View& x) {
  const std::int64_t rows = x.dim(0), many = f.pieces() / 2;
  if (f.spectrum == Spectrum::forward) {
    const View tile = k.sbuf({f.n1, rows, f.n2}, f32);
    k.dma_copy({.dst = tile, .src = x.reshape_dim(1, {f.n1, f.n2}).permute({1, 0, 2})});
    return {tile, {}};
  }
  const View tile = k.sbuf({f.size(), many, rows, f.n1, 2}, f32), middle = k.sbuf({1, rows}, f32);
  const View places = x(all, ds(0, f.n())).reshape_dim(1, {many, f.size(), 2 * f.n1}).permute({2, 1, 0, 3});
  k.dma_copy({.dst = tile.flatten_dims(3, 4), .src = places});
  k.dma_copy({.dst = middle, .src = x(all, ds(f.n(), 1)).permute({1, 0})});
  return {tile, middle};
}

struct LongRows {
  Kernel& k;
  const LongReal& f;
  WarmUp warm_up;
  Tables tables = long_real_tables(f);
  std::int64_t size = f.size(), pieces = f.pieces();

  LongRows(Kernel& kernel, const LongReal& config) : k(kernel), f(config), warm_up(kernel, config.warm_up) {}

  View table(std::size_t i) const { return resident(k, tables[i].name, tables[i].rows, tables[i].columns); }
  Parts parts(const View& v) const { return parts_of_tile(k, v, f.precision); }
  void add(const View& sum, const Parts& stationary, const Parts& moving) const {
    add_products(k, sum, stationary, moving, f.precision);
  }
  static Parts cut(Parts some, const std::function<View(const View&)>& of) {
    for (View& v : some) v = of(v);
    return some;
  }

  // to = sums times factors. What is in PSUM is read by the vector engine alone.
  void twiddle(const Planes& to, const Planes& sums, const Planes& w) const {
    const auto times = [&](const View& a, const View& b) {
      const View product = k.sbuf({a.dim(0), a.dim(1)}, f32);
      k.tensor_tensor({.dst = product, .data1 = a, .data2 = b, .op = AluOp::multiply, .engine = Engine::vector});
      return product;
    };
    const auto join = [&](const View& dst, AluOp op, const View& a, const View& b) {
      k.tensor_tensor({.dst = dst, .data1 = a, .data2 = b, .op = op, .engine = Engine::gpsimd});
    };
    join(to.re, AluOp::subtract, times(sums.re, w.re), times(sums.im, w.im));
    join(to.im, AluOp::add, times(sums.re, w.im), times(sums.im, w.re));
  }
};

struct LongForward : LongRows {
  Parts first, cosines, sines, minus_sines, alternating;
  Planes weights;

  // In the order in which they are needed.
  LongForward(Kernel& kernel, const LongReal& config) : LongRows(kernel, config) {
    first = parts(table(0));
    weights = {table(1), table(2)};
    cosines = parts(table(3)), sines = parts(table(4)), minus_sines = parts(table(5)), alternating = parts(table(6));
  }

  // Numbers [j2 of a piece, pieces, rows, k1].
  Planes first_product(const View& tile) const {
    const std::int64_t rows = tile.dim(1), n1 = f.n1;
    const Planes a{k.sbuf({size, pieces, rows, n1}, f32), k.sbuf({size, pieces, rows, n1}, f32)};
    const Parts data = parts(tile);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t p = 0; p < pieces; ++p) {
        const View sum = k.psum({kTile, kWide}, f32)(ds(0, size), ds(0, 2 * n1));
        warm_up.before(sum);
        add(sum, cut(data, [&](const View& v) { return v.select(1, row)(all, ds(p * size, size)); }), first);
        const auto of_row = [&](const View& v) { return v.select(1, p).select(1, row); };
        const Slice some = ds(p * n1, n1);
        twiddle({of_row(a.re), of_row(a.im)}, {sum(all, ds(0, n1)), sum(all, ds(n1, n1))},
                {weights.re(all, some), weights.im(all, some)});
      }
    }
    return a;
  }

  // One part of a piece of the results, [k2, rows, k1].
  View second_product(const Planes& a, std::int64_t piece, const Parts& of_re, const Parts& of_im) const {
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, size), ds(0, a.re.dim(2) * f.n1));
    for (std::int64_t p = 0; p < pieces; ++p) {
      const auto of_piece = [&](const View& v) { return v(all, ds((p * pieces / 2 + piece) * size, size)); };
      add(sum, cut(of_re, of_piece), parts(a.re.select(1, p).flatten_dims(1, 2)));
      add(sum, cut(of_im, of_piece), parts(a.im.select(1, p).flatten_dims(1, 2)));
    }
    return sum;
  }

  void run(const LongLoaded& x, const View& y) const {
    const std::int64_t rows = y.dim(0), width = 2 * f.n1;
    const Planes a = first_product(x.tile);
    for (std::int64_t p = 0; p < pieces / 2; ++p) {
      const View out = k.sbuf({size, rows * f.n1, 2}, f32);
      evict(k, component(out, 0), second_product(a, p, cosines, minus_sines), 1);
      evict(k, component(out, 1), second_product(a, p, sines, cosines), 2);
      const View places = y(all, ds(p * size * width, size * width)).reshape_dim(1, {size, width}).permute({1, 0, 2});
      k.dma_copy({.dst = places, .src = out.flatten_dims(1, 2).reshape_dim(1, {rows, width})});
    }
    middle(a.re, y);
  }

  // The middle number: real, a sum of those with k1 = 0 with alternating signs.
  void middle(const View& re, const View& y) const {
    const std::int64_t rows = y.dim(0);
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, 1), ds(0, rows)), out = k.sbuf({1, rows, 2}, f32);
    k.memset({.dst = out, .value = 0.0, .engine = Engine::gpsimd});
    for (std::int64_t p = 0; p < pieces; ++p)
      add(sum, cut(alternating, [&](const View& v) { return v(all, ds(p, 1)); }), parts(re.select(1, p).select(2, 0)));
    evict(k, component(out, 0), sum, 2);
    k.dma_copy({.dst = y(all, ds(f.n(), 2)).expand_dim(0), .src = out});
  }
};

struct LongInverse : LongRows {
  Parts first_cosines, first_sines, signs, cosines, minus_sines;
  Planes weights;
  View half;

  LongInverse(Kernel& kernel, const LongReal& config) : LongRows(kernel, config) {
    half = table(0);
    first_cosines = parts(table(1)), first_sines = parts(table(2)), signs = parts(table(3));
    weights = {table(4), table(5)};
    cosines = parts(table(6)), minus_sines = parts(table(7));
  }

  // The operands of the first product: numbers [k2 of a piece, pieces, rows, k1], minus their imaginary parts, and half
  // of each middle number as the one with k1 = 0 of a row of zeros, [1, rows, k1].
  struct Numbers {
    Parts re, im, minus_im, middle;
  };
  Numbers operands(const LongLoaded& x) const {
    const std::int64_t rows = x.middle.dim(1);
    const View minus = k.sbuf({size, pieces / 2, rows, f.n1}, f32), middle = k.sbuf({1, rows, f.n1}, f32);
    // The first number counts half as much as the others.
    const View column = x.tile.select(1, 0).select(2, 0);
    k.tensor_scalar({.dst = column, .data = column, .op0 = AluOp::multiply, .operand0 = half});
    k.activation({.dst = minus, .op = ActFn::copy, .data = component(x.tile, 1), .scale = -1.0});
    k.memset({.dst = middle, .value = 0.0, .engine = Engine::gpsimd});
    k.tensor_scalar({.dst = middle.select(2, 0), .data = x.middle, .op0 = AluOp::multiply, .operand0 = 0.5});
    return {parts(component(x.tile, 0)), parts(component(x.tile, 1)), parts(minus), parts(middle)};
  }

  // [k1, some j2] of one row.
  Planes first_product(const Numbers& x, std::int64_t row, const Piece& j2) const {
    const auto bank = [&] { return k.psum({kTile, kWide}, f32)(ds(0, f.n1), ds(0, j2.size)); };
    const Planes sums{bank(), bank()};
    warm_up.before(sums.re);
    for (std::int64_t p = 0; p < pieces / 2; ++p) {
      const auto of_row = [&](const View& v) { return v.select(1, p).select(1, row); };
      const auto columns = [&](const View& v) { return v(all, ds(p * f.n2 + j2.start, j2.size)); };
      const Parts re = cut(x.re, of_row), c = cut(first_cosines, columns), s = cut(first_sines, columns);
      add(sums.re, re, c);
      add(sums.re, cut(x.minus_im, of_row), s);
      add(sums.im, re, s);
      add(sums.im, cut(x.im, of_row), c);
    }
    add(sums.re, cut(x.middle, [&](const View& v) { return v.select(1, row); }),
        cut(signs, [&](const View& v) { return v(all, ds(j2.start, j2.size)); }));
    return sums;
  }

  // Pieces of rows, so that engines do not wait for all of one.
  void run(const LongLoaded& x, const View& y) const {
    constexpr std::int64_t kSome = 256;
    const std::int64_t rows = y.dim(0);
    const Numbers numbers = operands(x);
    const View places = y.reshape_dim(1, {f.n1, f.n2}).permute({1, 0, 2}), out = k.sbuf({f.n1, rows, f.n2}, f32);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (const Piece& j2 : even_pieces(f.n2, kSome)) {
        const auto some = [&](const View& v) { return v(all, ds(j2.start, j2.size)); };
        const Planes a{k.sbuf({f.n1, j2.size}, f32), k.sbuf({f.n1, j2.size}, f32)};
        twiddle(a, first_product(numbers, row, j2), {some(weights.re), some(weights.im)});
        const View sum = k.psum({kTile, kWide}, f32)(ds(0, f.n1), ds(0, j2.size));
        add(sum, cosines, parts(a.re));
        add(sum, minus_sines, parts(a.im));
        evict(k, some(out.select(1, row)), sum, 1);
      }
    }
    k.dma_copy({.dst = places, .src = out});
  }
};

}  // namespace

bool is_possible(const LongReal& f) {
  return f.spectrum != Spectrum::whole && f.n1 >= 2 && f.n1 <= kTile && f.n2 % f.pieces() == 0 && f.size() >= 1 &&
         f.size() <= kTile;
}

// A row of the second table has the results of each piece that is contracted, one piece after the other.
static Tables forward_tables(const LongReal& f) {
  const std::int64_t size = f.size(), half = f.n2 / 2;
  Table first = phases("long_first", f.n1, 2 * f.n1, PhasePart::cosine, [&](std::int64_t j, std::int64_t k) {
    const Complex w = phase_of(f, product_mod(j, k % f.n1, f.n1), f.n1);
    return k < f.n1 ? w : Complex(w.imag());
  });
  const auto weight = [&](std::int64_t r, std::int64_t c) {
    return phase_of(f, product_mod(r + c / f.n1 * size, c % f.n1, f.n()), f.n());
  };
  const auto second = [&](std::int64_t r, std::int64_t c) {
    return f.scale * phase_of(f, product_mod(r + c / half * size, c % half, f.n2), f.n2);
  };
  Table alternating("long_alternating", size, f.pieces());
  for (std::int64_t r = 0; r < size; ++r) {
    for (std::int64_t p = 0; p < f.pieces(); ++p)
      alternating(r, p) = static_cast<float>((r + p * size) % 2 ? -f.scale : f.scale);
  }
  const std::int64_t weights = f.pieces() * f.n1, results = f.pieces() * half;
  return {std::move(first),
          phases("long_weight_re", size, weights, PhasePart::cosine, weight),
          phases("long_weight_im", size, weights, PhasePart::sine, weight),
          phases("long_cos", size, results, PhasePart::cosine, second),
          phases("long_sin", size, results, PhasePart::sine, second),
          phases("long_minus_sin", size, results, PhasePart::minus_sine, second),
          std::move(alternating)};
}

static Tables inverse_tables(const LongReal& f) {
  const std::int64_t size = f.size(), columns = f.pieces() / 2 * f.n2;
  const auto first = [&](std::int64_t r, std::int64_t c) {
    return phase_of(f, product_mod(r + c / f.n2 * size, c % f.n2, f.n2), f.n2);
  };
  const auto weight = [&](std::int64_t r, std::int64_t c) { return phase_of(f, product_mod(r, c, f.n()), f.n()); };
  const auto second = [&](std::int64_t r, std::int64_t c) {
    return 2 * f.scale * phase_of(f, product_mod(r, c, f.n1), f.n1);
  };
  Table half("long_half", size, 1), signs("long_signs", 1, f.n2);
  for (std::int64_t r = 0; r < size; ++r) half(r, 0) = r == 0 ? 0.5f : 1.0f;
  for (std::int64_t j = 0; j < f.n2; ++j) signs(0, j) = j % 2 ? -1.0f : 1.0f;
  return {std::move(half),
          phases("long_first_cos", size, columns, PhasePart::cosine, first),
          phases("long_first_sin", size, columns, PhasePart::sine, first),
          std::move(signs),
          phases("long_weight_re", f.n1, f.n2, PhasePart::cosine, weight),
          phases("long_weight_im", f.n1, f.n2, PhasePart::sine, weight),
          phases("long_cos", f.n1, f.n1, PhasePart::cosine, second),
          phases("long_minus_sin", f.n1, f.n1, PhasePart::minus_sine, second)};
}

Tables long_real_tables(const LongReal& f) {
  return f.spectrum == Spectrum::forward ? forward_tables(f) : inverse_tables(f);
}

// The first rows come before the tables, of which the first product needs but some.
template <class Transform>
static void long_rows(Kernel& k, const LongReal& f, const View& x, const View& y) {
  const std::int64_t rows = x.dim(0), some = std::min(rows, rows_at_once(f));
  const LongLoaded loaded = load_long(k, f, x(ds(0, some)));
  const Transform transform(k, f);
  transform.run(loaded, y(ds(0, some)));
  tiles_from(k, some, rows, some, [&](Index row, std::int64_t count) {
    transform.run(load_long(k, f, x(ds(row, count))), y(ds(row, count)));
  });
}

void long_real(Kernel& k, const LongReal& f, const View& x, const View& y) {
  (f.spectrum == Spectrum::forward ? long_rows<LongForward> : long_rows<LongInverse>)(k, f, x, y);
}

}  // namespace kiln::kernels
