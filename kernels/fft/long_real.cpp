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

// Factors between the products of one row, for (re, im): (cos, cos) and (- sin, sin). Forward, each half of the numbers
// j2 has its own.
void add_long_twiddles(Tables& tables, const LongReal& f) {
  const bool forward = f.spectrum == Spectrum::forward;
  const std::int64_t rows = forward ? f.half() : f.n1, columns = forward ? 2 * f.n1 : f.n2;
  Table cosine("long_cosine", rows, 2 * columns), sine("long_sine", rows, 2 * columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t a = forward ? r + c / f.n1 * f.half() : r, b = forward ? c % f.n1 : c;
      const Complex w = phase_of(f, product_mod(a, b, f.n()), f.n());
      cosine(r, 2 * c) = cosine(r, 2 * c + 1) = static_cast<float>(w.real());
      sine(r, 2 * c) = static_cast<float>(-w.imag()), sine(r, 2 * c + 1) = static_cast<float>(w.imag());
    }
  }
  tables.push_back(std::move(cosine));
  tables.push_back(std::move(sine));
}

Table second_table(const LongReal& f, const char* name, const std::function<double(const Complex&)>& part) {
  const bool forward = f.spectrum == Spectrum::forward;
  const std::int64_t rows = forward ? f.half() : f.n1, halves = forward ? 2 : 1, size = forward ? f.n2 : f.n1;
  Table t(name, rows, halves * rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < halves * rows; ++c) {
      const std::int64_t contracted = c / rows * f.half() + r, result = c % rows;
      t(r, c) = static_cast<float>((forward ? 1 : 2) * f.scale *
                                   part(phase_of(f, product_mod(contracted, result, size), size)));
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
  std::int64_t half = f.half();

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

  // x [rows, n] to a [j2 of one half, halves, rows, k1, 2].
  View first_product(const View& x) const {
    const std::int64_t rows = x.dim(0);
    const View tile = k.sbuf({f.n1, rows, f.n2}, f32), a = k.sbuf({half, 2, rows, f.n1, 2}, f32);
    k.dma_copy({.dst = tile, .src = x.reshape_dim(1, {f.n1, f.n2}).permute({1, 0, 2})});
    const Parts data = parts(tile);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t h = 0; h < 2; ++h) {
        const View sum = k.psum({kTile, kWide}, f32)(ds(0, half), ds(0, 2 * f.n1));
        add(sum, cut(data, [&](const View& v) { return v.select(1, row)(all, ds(h * half, half)); }), first);
        const auto of_half = [&](const View& t) { return t(all, ds(h * f.n1, f.n1)); };
        twiddle(a.select(1, h).select(1, row), pairs(sum), of_half(cosine), of_half(sine));
      }
    }
    return a;
  }

  // One part of the results, [k2, rows, k1].
  View second_product(const View& a, const Parts& of_re, const Parts& of_im) const {
    const std::int64_t columns = a.dim(2) * f.n1;
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, half), ds(0, columns));
    for (std::int64_t h = 0; h < 2; ++h) {
      const View numbers = a.select(1, h).flatten_dims(1, 2);
      for (int i = 0; i < 2; ++i)
        add(sum, cut(i == 0 ? of_re : of_im, [&](const View& v) { return v(all, ds(h * half, half)); }),
            parts(component(numbers, i)));
    }
    return sum;
  }

  void run(const View& x, const View& y) const {
    const std::int64_t rows = x.dim(0), n = f.n();
    const View a = first_product(x), out = k.sbuf({half, rows * f.n1, 2}, f32);
    evict(k, component(out, 0), second_product(a, cosines, minus_sines), 1);
    evict(k, component(out, 1), second_product(a, sines, cosines), 2);
    const View places = y(all, ds(0, n)).reshape_dim(1, {half, 2 * f.n1}).permute({1, 0, 2});
    k.dma_copy({.dst = places, .src = out.flatten_dims(1, 2).reshape_dim(1, {rows, 2 * f.n1})});
    middle(a, y);
  }

  // The middle number: real, a sum of those with k1 = 0 with alternating signs.
  void middle(const View& a, const View& y) const {
    const std::int64_t rows = y.dim(0);
    const View sum = k.psum({kTile, kWide}, f32)(ds(0, 1), ds(0, rows)), out = k.sbuf({1, rows, 2}, f32);
    k.memset({.dst = out, .value = 0.0, .engine = Engine::gpsimd});
    for (std::int64_t h = 0; h < 2; ++h) {
      const View first_numbers = component(a.select(1, h), 0).select(2, 0);
      add(sum, cut(alternating, [&](const View& v) { return v(all, ds(h, 1)); }), parts(first_numbers));
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

  // Half spectra as [k2, rows, k1, 2]; the first number counts half as much as the others.
  View loaded(const View& x) const {
    const std::int64_t rows = x.dim(0);
    const View tile = k.sbuf({half, rows, f.n1, 2}, f32);
    k.dma_copy({.dst = tile.flatten_dims(2, 3),
                .src = x(all, ds(0, f.n())).reshape_dim(1, {half, 2 * f.n1}).permute({1, 0, 2})});
    const View column = tile.select(2, 0);
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

  void run(const View& x, const View& y) const {
    const std::int64_t rows = x.dim(0);
    const View tile = loaded(x), a = k.sbuf({f.n1, rows, f.n2, 2}, f32);
    const Parts re = parts(component(tile, 0)), im = parts(component(tile, 1)), middle = parts(middles(x));
    for (std::int64_t row = 0; row < rows; ++row) {
      const View sum = k.psum({kTile, kWide}, f32)(ds(0, f.n1), ds(0, 2 * f.n2));
      const auto of_row = [&](const View& v) { return v.select(1, row); };
      add(sum, cut(re, of_row), first[0]);
      add(sum, cut(im, of_row), first[1]);
      add(sum, cut(middle, of_row), signs);
      twiddle(a.select(1, row), pairs(sum), cosine, sine);
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
  return f.spectrum != Spectrum::whole && f.n2 % 2 == 0 && f.n1 >= 2 && f.n1 <= kTile && f.half() >= 1 &&
         f.half() <= kTile;
}

static double real_part(const Complex& w) { return w.real(); }
static double imaginary_part(const Complex& w) { return w.imag(); }
static double minus_imaginary_part(const Complex& w) { return -w.imag(); }

static Tables forward_tables(const LongReal& f) {
  Tables tables;
  Table first("long_first", f.n1, 2 * f.n1), alternating("long_alternating", f.half(), 2);
  for (std::int64_t j = 0; j < f.n1; ++j) {
    for (std::int64_t k = 0; k < f.n1; ++k) {
      const Complex w = phase_of(f, product_mod(j, k, f.n1), f.n1);
      first(j, 2 * k) = static_cast<float>(w.real()), first(j, 2 * k + 1) = static_cast<float>(w.imag());
    }
  }
  for (std::int64_t r = 0; r < f.half(); ++r) {
    for (std::int64_t h = 0; h < 2; ++h)
      alternating(r, h) = static_cast<float>((r + h * f.half()) % 2 ? -f.scale : f.scale);
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
  Table weight("long_weight", f.half(), 1), re("long_first_re", f.half(), 2 * f.n2),
      im("long_first_im", f.half(), 2 * f.n2), signs("long_signs", 1, 2 * f.n2);
  for (std::int64_t k = 0; k < f.half(); ++k) {
    weight(k, 0) = k == 0 ? 0.5f : 1.0f;
    for (std::int64_t j = 0; j < f.n2; ++j) {
      const Complex w = phase_of(f, product_mod(k, j, f.n2), f.n2);
      re(k, 2 * j) = static_cast<float>(w.real()), re(k, 2 * j + 1) = static_cast<float>(w.imag());
      im(k, 2 * j) = static_cast<float>(-w.imag()), im(k, 2 * j + 1) = static_cast<float>(w.real());
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
