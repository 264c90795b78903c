#include "kernels/fft/long_real.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/blas/split.h"
#include "kernels/fft/complex_view.h"

namespace kiln::kernels {
using namespace isa;

namespace {

Complex phase_of(const LongReal& f, std::int64_t k, std::int64_t n) {
  return root(f.positive || f.spectrum == Spectrum::inverse ? k : -k, n);
}

// Factors between the products of one row, for (re, im): (cos, cos) and (- sin, sin). Forward, each piece of the numbers
// j2 has its own.
void add_long_twiddles(Tables& tables, const LongReal& f) {
  const bool forward = f.spectrum == Spectrum::forward;
  const std::int64_t rows = forward ? f.size() : f.n1, columns = forward ? f.pieces() * f.n1 : f.n2;
  Table cosine("long_cosine", rows, 2 * columns), sine("long_sine", rows, 2 * columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t a = forward ? r + c / f.n1 * f.size() : r, b = forward ? c % f.n1 : c;
      const Complex w = phase_of(f, product_mod(a, b, f.n()), f.n());
      cosine(r, 2 * c) = cosine(r, 2 * c + 1) = static_cast<float>(w.real());
      sine(r, 2 * c) = static_cast<float>(-w.imag()), sine(r, 2 * c + 1) = static_cast<float>(w.imag());
    }
  }
  tables.push_back(std::move(cosine));
  tables.push_back(std::move(sine));
}

// Forward, the results of each piece that is contracted follow each other.
Table second_table(const LongReal& f, const char* name, const std::function<double(const Complex&)>& part) {
  const bool forward = f.spectrum == Spectrum::forward;
  const std::int64_t rows = forward ? f.size() : f.n1, results = forward ? f.n2 / 2 : f.n1;
  const std::int64_t size = forward ? f.n2 : f.n1;
  Table t(name, rows, (forward ? f.pieces() : 1) * results);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < t.columns; ++c) {
      const std::int64_t contracted = c / results * f.size() + r;
      t(r, c) = static_cast<float>((forward ? 1 : 2) * f.scale *
                                   part(phase_of(f, product_mod(contracted, c % results, size), size)));
    }
  }
  return t;
}

// The rows of one pass: as many as fill a bank of the second product.
std::int64_t rows_at_once(const LongReal& f) {
  return std::max<std::int64_t>(1, kWide / (f.spectrum == Spectrum::forward ? f.n1 : f.n2));
}

struct LongRows {
  Kernel& k;
  const LongReal& f;
  Tables tables = long_real_tables(f);
  std::int64_t size = f.size(), pieces = f.pieces();

  View table(std::size_t i) const { return resident(k, tables[i].name, tables[i].rows, tables[i].columns); }
  Parts parts(const View& v) const { return parts_of_tile(k, v, f.precision); }
  void add(const View& sum, const Parts& stationary, const Parts& moving) const {
    add_products(k, sum, stationary, moving, f.precision);
  }
  static Parts cut(Parts some, const std::function<View(const View&)>& of) {
    for (View& v : some) v = of(v);
    return some;
  }

  // to = sum times the factors (cosine, sine), [rows, numbers, 2] each.
  void twiddle(const View& to, const View& sum, const View& cosine, const View& sine) const {
    const View straight = k.sbuf({to.dim(0), to.dim(1), 2}, f32), turned = k.sbuf({to.dim(0), to.dim(1), 2}, f32);
    const auto times = [&](const View& dst, const View& a, const View& b) {
      k.tensor_tensor({.dst = dst, .data1 = a, .data2 = b, .op = AluOp::multiply, .engine = Engine::vector});
    };
    times(straight, sum, cosine);
    times(component(turned, 0), component(sum, 1), component(sine, 0));
    times(component(turned, 1), component(sum, 0), component(sine, 1));
    k.tensor_tensor({.dst = to, .data1 = straight, .data2 = turned, .op = AluOp::add, .engine = Engine::gpsimd});
  }
  // A table of factors as [rows, numbers, 2].
  static View pairs(const View& t) { return t.reshape_dim(1, {t.dim(1) / 2, 2}); }
};

struct LongForward : LongRows {
  Parts first, cosines, sines, minus_sines, alternating;
  View cosine, sine;

  // In the order in which they are needed.
  LongForward(Kernel& kernel, const LongReal& config) : LongRows{kernel, config} {
    first = parts(table(0));
    cosine = pairs(table(1)), sine = pairs(table(2));
    cosines = parts(table(3)), sines = parts(table(4)), minus_sines = parts(table(5)), alternating = parts(table(6));
  }

  // x [rows, n] to a [j2 of a piece, pieces, rows, k1, 2].
  View first_product(const View& x) const {
    const std::int64_t rows = x.dim(0);
    const View tile = k.sbuf({f.n1, rows, f.n2}, f32), a = k.sbuf({size, pieces, rows, f.n1, 2}, f32);
    k.dma_copy({.dst = tile, .src = x.reshape_dim(1, {f.n1, f.n2}).permute({1, 0, 2})});
    const Parts data = parts(tile);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t p = 0; p < pieces; ++p) {
        const View sum = k.psum({kTile, kWide}, f32)(ds(0, size), ds(0, 2 * f.n1));
        add(sum, cut(data, [&](const View& v) { return v.select(1, row)(all, ds(p * size, size)); }), first);
        const auto of_piece = [&](const View& t) { return t(all, ds(p * f.n1, f.n1)); };
        twiddle(a.select(1, p).select(1, row), pairs(sum), of_piece(cosine), of_piece(sine));
      }
    }
    return a;
  }

  // One part of a piece of the results, [k2, rows, k1].
  View second_product(const View& a, std::int64_t piece, const Parts& of_re, const Parts& of_im) const {
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, size), ds(0, a.dim(2) * f.n1));
    for (std::int64_t p = 0; p < pieces; ++p) {
      const View numbers = a.select(1, p).flatten_dims(1, 2);
      const auto of_piece = [&](const View& v) { return v(all, ds((p * pieces / 2 + piece) * size, size)); };
      add(sum, cut(of_re, of_piece), parts(component(numbers, 0)));
      add(sum, cut(of_im, of_piece), parts(component(numbers, 1)));
    }
    return sum;
  }

  void run(const View& x, const View& y) const {
    const std::int64_t rows = x.dim(0), width = 2 * f.n1;
    const View a = first_product(x);
    for (std::int64_t p = 0; p < pieces / 2; ++p) {
      const View out = k.sbuf({size, rows * f.n1, 2}, f32);
      evict(k, component(out, 0), second_product(a, p, cosines, minus_sines), 1);
      evict(k, component(out, 1), second_product(a, p, sines, cosines), 2);
      const View places = y(all, ds(p * size * width, size * width)).reshape_dim(1, {size, width}).permute({1, 0, 2});
      k.dma_copy({.dst = places, .src = out.flatten_dims(1, 2).reshape_dim(1, {rows, width})});
    }
    middle(a, y);
  }

  // The middle number: real, a sum of those with k1 = 0 with alternating signs.
  void middle(const View& a, const View& y) const {
    const std::int64_t rows = y.dim(0);
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, 1), ds(0, rows)), out = k.sbuf({1, rows, 2}, f32);
    k.memset({.dst = out, .value = 0.0, .engine = Engine::gpsimd});
    for (std::int64_t p = 0; p < pieces; ++p) {
      const View first_numbers = component(a.select(1, p), 0).select(2, 0);
      add(sum, cut(alternating, [&](const View& v) { return v(all, ds(p, 1)); }), parts(first_numbers));
    }
    evict(k, component(out, 0), sum, 2);
    k.dma_copy({.dst = y(all, ds(f.n(), 2)).expand_dim(0), .src = out});
  }
};

struct LongInverse : LongRows {
  Parts first[2], signs, cosines, minus_sines;
  View weight, cosine, sine;

  LongInverse(Kernel& kernel, const LongReal& config) : LongRows{kernel, config} {
    weight = table(0);
    first[0] = parts(table(1)), first[1] = parts(table(2)), signs = parts(table(3));
    cosine = pairs(table(4)), sine = pairs(table(5));
    cosines = parts(table(6)), minus_sines = parts(table(7));
  }

  // Half spectra as [k2 of a piece, pieces, rows, k1, 2]; the first number counts half as much as the others.
  View loaded(const View& x) const {
    const std::int64_t rows = x.dim(0), half = pieces / 2;
    const View tile = k.sbuf({size, half, rows, f.n1, 2}, f32);
    const View places = x(all, ds(0, f.n())).reshape_dim(1, {half, size, 2 * f.n1}).permute({2, 1, 0, 3});
    k.dma_copy({.dst = tile.flatten_dims(3, 4), .src = places});
    const View column = tile.select(1, 0).select(2, 0);
    k.tensor_scalar({.dst = column, .data = column, .op0 = AluOp::multiply, .operand0 = weight});
    return tile;
  }
  // Half of each middle number as the one with k1 = 0 of a row of zeros, [1, rows, n1].
  View middles(const View& x) const {
    const std::int64_t rows = x.dim(0);
    const View tile = k.sbuf({1, rows, f.n1}, f32), numbers = k.sbuf({1, rows}, f32);
    k.memset({.dst = tile, .value = 0.0, .engine = Engine::gpsimd});
    k.dma_copy({.dst = numbers, .src = x(all, ds(f.n(), 1)).permute({1, 0})});
    k.tensor_scalar({.dst = tile.select(2, 0), .data = numbers, .op0 = AluOp::multiply, .operand0 = 0.5});
    return tile;
  }

  // Some j2 of one row, which fill a bank.
  void first_product(const View& a, const Parts& re, const Parts& im, const Parts& middle, std::int64_t row,
                     const Piece& j2) const {
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, f.n1), ds(0, 2 * j2.size));
    for (std::int64_t p = 0; p < pieces / 2; ++p) {
      const auto of_row = [&](const View& v) { return v.select(1, p).select(1, row); };
      const auto columns = [&](const View& v) { return v(all, ds(2 * (p * f.n2 + j2.start), 2 * j2.size)); };
      add(sum, cut(re, of_row), cut(first[0], columns));
      add(sum, cut(im, of_row), cut(first[1], columns));
    }
    add(sum, cut(middle, [&](const View& v) { return v.select(1, row); }),
        cut(signs, [&](const View& v) { return v(all, ds(2 * j2.start, 2 * j2.size)); }));
    const auto some = [&](const View& v) { return v(all, ds(j2.start, j2.size)); };
    twiddle(some(a.select(1, row)), pairs(sum), some(cosine), some(sine));
  }

  void run(const View& x, const View& y) const {
    const std::int64_t rows = x.dim(0);
    const View tile = loaded(x), a = k.sbuf({f.n1, rows, f.n2, 2}, f32);
    const Parts re = parts(component(tile, 0)), im = parts(component(tile, 1)), middle = parts(middles(x));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t p = 0; p < pieces / 2; ++p)
        first_product(a, re, im, middle, row, {2 * p * size, 2 * size});
    }
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, f.n1), ds(0, rows * f.n2)),
               out = k.sbuf({f.n1, rows * f.n2}, f32), numbers = a.flatten_dims(1, 2);
    add(sum, cosines, parts(component(numbers, 0)));
    add(sum, minus_sines, parts(component(numbers, 1)));
    evict(k, out, sum, 1);
    k.dma_copy({.dst = y.reshape_dim(1, {f.n1, f.n2}).permute({1, 0, 2}), .src = out.reshape_dim(1, {rows, f.n2})});
  }
};

}  // namespace

bool is_possible(const LongReal& f) {
  return f.spectrum != Spectrum::whole && f.n1 >= 2 && f.n1 <= kTile && f.n2 % f.pieces() == 0 && f.size() >= 1 &&
         f.size() <= kTile;
}

static double real_part(const Complex& w) { return w.real(); }
static double imaginary_part(const Complex& w) { return w.imag(); }
static double minus_imaginary_part(const Complex& w) { return -w.imag(); }

static Tables forward_tables(const LongReal& f) {
  Tables tables;
  Table first("long_first", f.n1, 2 * f.n1), alternating("long_alternating", f.size(), f.pieces());
  for (std::int64_t j = 0; j < f.n1; ++j) {
    for (std::int64_t k = 0; k < f.n1; ++k) {
      const Complex w = phase_of(f, product_mod(j, k, f.n1), f.n1);
      first(j, 2 * k) = static_cast<float>(w.real()), first(j, 2 * k + 1) = static_cast<float>(w.imag());
    }
  }
  for (std::int64_t r = 0; r < f.size(); ++r) {
    for (std::int64_t p = 0; p < f.pieces(); ++p)
      alternating(r, p) = static_cast<float>((r + p * f.size()) % 2 ? -f.scale : f.scale);
  }
  tables.push_back(std::move(first));
  add_long_twiddles(tables, f);
  tables.push_back(second_table(f, "long_cos", real_part));
  tables.push_back(second_table(f, "long_sin", imaginary_part));
  tables.push_back(second_table(f, "long_minus_sin", minus_imaginary_part));
  tables.push_back(std::move(alternating));
  return tables;
}

static Tables inverse_tables(const LongReal& f) {
  Tables tables;
  const std::int64_t columns = f.pieces() * f.n2;
  Table weight("long_weight", f.size(), 1), re("long_first_re", f.size(), columns),
      im("long_first_im", f.size(), columns), signs("long_signs", 1, 2 * f.n2);
  for (std::int64_t k = 0; k < f.n2 / 2; ++k) {
    const std::int64_t row = k % f.size(), first = k / f.size() * 2 * f.n2;
    weight(row, 0) = row == 0 ? 0.5f : 1.0f;
    for (std::int64_t j = 0; j < f.n2; ++j) {
      const Complex w = phase_of(f, product_mod(k, j, f.n2), f.n2);
      const std::int64_t c = first + 2 * j;
      re(row, c) = static_cast<float>(w.real()), re(row, c + 1) = static_cast<float>(w.imag());
      im(row, c) = static_cast<float>(-w.imag()), im(row, c + 1) = static_cast<float>(w.real());
    }
  }
  for (std::int64_t j = 0; j < f.n2; ++j) signs(0, 2 * j) = j % 2 ? -1.0f : 1.0f;
  for (Table* t : {&weight, &re, &im, &signs}) tables.push_back(std::move(*t));
  add_long_twiddles(tables, f);
  tables.push_back(second_table(f, "long_cos", real_part));
  tables.push_back(second_table(f, "long_minus_sin", minus_imaginary_part));
  return tables;
}

Tables long_real_tables(const LongReal& f) {
  return f.spectrum == Spectrum::forward ? forward_tables(f) : inverse_tables(f);
}

void long_real(Kernel& k, const LongReal& f, const View& x, const View& y) {
  const auto by_rows = [&](const auto& transform) {
    k.tiles(x.dim(0), std::min(x.dim(0), rows_at_once(f)),
            [&](Index row, std::int64_t rows) { transform.run(x(ds(row, rows)), y(ds(row, rows))); });
  };
  f.spectrum == Spectrum::forward ? by_rows(LongForward(k, f)) : by_rows(LongInverse(k, f));
}

}  // namespace kiln::kernels
