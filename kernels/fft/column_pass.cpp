#include "kernels/fft/column_pass.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

namespace {
View part(const View& x, int i) { return x(all, all, ds(i, 1)).squeeze_dim(2); }
}  // namespace

// What the numbers of half a spectrum count.
static double weight_of(const ColumnPassConfig& c, std::int64_t k) {
  return c.spectrum == Spectrum::inverse && k != 0 && 2 * k != c.n0 ? 2 : 1;
}

static bool is_positive(const ColumnPassConfig& c) { return c.positive || c.spectrum == Spectrum::inverse; }

Tables column_pass_tables(const ColumnPassConfig& c) {
  Tables tables;
  const std::int64_t sign = is_positive(c) ? 1 : -1, in = c.contracted(), out = c.results();
  const char* names[] = {"column_cos", "column_sin", "column_minus_sin"};
  for (int which = 0; which < 3; ++which) {
    if (which == (c.spectrum == Spectrum::forward ? 2 : 1) && c.spectrum != Spectrum::whole) continue;
    Table t(c.prefix + names[which], c.p() * in, c.p() * out);
    for (std::int64_t copy = 0; copy < c.p(); ++copy) {
      for (std::int64_t j = 0; j < in; ++j) {
        for (std::int64_t k = 0; k < out; ++k) {
          const Complex w = weight_of(c, j) * root(sign * product_mod(j, k, c.n0), c.n0);
          t(copy * in + j, copy * out + k) = static_cast<float>(which == 0   ? w.real()
                                                                : which == 1 ? w.imag()
                                                                             : -w.imag());
        }
      }
    }
    tables.push_back(std::move(t));
  }
  Table twiddles(c.prefix + "column_twiddles", c.kept(), 2 * c.m);
  for (std::int64_t k = 0; k < c.kept(); ++k) {
    for (std::int64_t r = 0; r < c.m; ++r) {
      const Complex w = root(sign * product_mod(k, r, c.n0 * c.m), c.n0 * c.m);
      twiddles(k, 2 * r) = static_cast<float>(w.real()), twiddles(k, 2 * r + 1) = static_cast<float>(w.imag());
    }
  }
  tables.push_back(std::move(twiddles));
  return tables;
}

ColumnPass::ColumnPass(Kernel& k, const ColumnPassConfig& c) : k_(k), c_(c) {
  const auto table = [&](const char* name) {
    return parts_of_tile(k, resident(k, c.prefix + name, c.p() * c.contracted(), c.p() * c.results()), c.precision);
  };
  cos_ = table("column_cos");
  if (c.spectrum != Spectrum::inverse) sin_ = table("column_sin");
  if (c.spectrum != Spectrum::forward) minus_sin_ = table("column_minus_sin");
  twiddles_ = k.input(c.prefix + "column_twiddles", {c.kept(), 2 * c.m}, f32);
}

void ColumnPass::run(const View& x, const View& s, std::int64_t column, std::int64_t columns) const {
  const bool back = c_.spectrum == Spectrum::inverse;
  const View& real = back ? s : x;  // the rows that are as long as the transform
  const std::int64_t width = c_.spectrum == Spectrum::whole ? 2 * c_.m : c_.m;
  const View matrix = real.reshape_dim(1, {c_.n0, width}).flatten_dims(0, 1);
  k_.tiles(real.dim(0), c_.p(), [&](Index row, std::int64_t rows) {
    const auto some = [&](const View& v, std::int64_t size) { return v(ds(row * size, rows * size)); };
    tiles_from(k_, column, column + columns, kWide, [&](Index first, std::int64_t size) {
      if (back)
        chunk_back(some(x, c_.kept()), some(matrix, c_.n0), first, size);
      else
        chunk(some(matrix, c_.n0), some(s, c_.kept()), first, size);
    });
  });
}

// The factors of some columns, for `rows` rows of numbers k0.
View ColumnPass::weights(std::int64_t rows, const Index& first, std::int64_t width) const {
  const View w = k_.sbuf({rows, width, 2}, f32);
  k_.dma_copy({.dst = w.flatten_dims(1, 2),
               .src = twiddles_(all, ds(first * 2, 2 * width)).expand_dim(0).broadcast(0, rows / c_.kept())});
  return w;
}

// sum [results, columns] += tableᵀ moving [rows, columns]
void ColumnPass::add(const View& sum, const Parts& table, const View& moving) const {
  Parts stationary = table;
  for (View& v : stationary) v = v(ds(0, moving.dim(0)), ds(0, sum.dim(0)));
  add_products(k_, sum, stationary, parts_of_tile(k_, moving, c_.precision), c_.precision);
}

void ColumnPass::chunk(const View& x, const View& s, const Index& first, std::int64_t width) const {
  const std::int64_t rows = x.dim(0);
  const bool real = c_.spectrum == Spectrum::forward;
  const View in = real ? k_.sbuf({rows, width}, f32) : k_.sbuf({rows, width, 2}, f32);
  if (real)
    k_.dma_copy({.dst = in, .src = x(all, ds(first, width))});
  else
    k_.dma_copy({.dst = in.flatten_dims(1, 2), .src = x(all, ds(first * 2, 2 * width))});
  products(real ? std::vector{in} : std::vector{part(in, 0), part(in, 1)}, s, first, width);
}

void ColumnPass::run_pairs(const View& x, const View& s) const {
  k_.tiles(x.dim(0) / 2, c_.p(), [&](Index pair, std::int64_t pairs) {
    k_.tiles(c_.m, kWide, [&](Index first, std::int64_t width) {
      std::vector<View> parts;
      for (int i = 0; i < 2; ++i) {
        parts.push_back(k_.sbuf({pairs * c_.n0, width}, f32));
        const std::int64_t stride = x.stride(0);
        k_.dma_copy({.dst = parts.back(),
                     .src = x.ap({{2 * stride, pairs}, {c_.m, c_.n0}, {1, width}},
                                 (pair * 2 + i) * stride + x.offset() + first)});
      }
      products(parts, s(ds(pair * c_.n0, pairs * c_.n0)), first, width);
    });
  });
}

// Of real parts and imaginary ones, where there are some, [rows, width] each.
void ColumnPass::products(const std::vector<View>& parts, const View& s, const Index& first, std::int64_t width) const {
  const std::int64_t results = s.dim(0);
  const View w = weights(results, first, width);
  const auto product = [&](const Parts& with_re, const Parts& with_im) {
    const View sum = k_.psum({kTile, kWide}, f32)(ds(0, results), ds(0, width));
    add(sum, with_re, parts[0]);
    if (parts.size() > 1) add(sum, with_im, parts[1]);
    return sum;
  };
  const View re = product(cos_, minus_sin_), im = product(sin_, cos_);
  k_.dma_copy({.dst = s(all, ds(first * 2, 2 * width)), .src = times_pairs(k_, re, im, w).flatten_dims(1, 2)});
}

void ColumnPass::chunk_back(const View& s, const View& x, const Index& first, std::int64_t width) const {
  const std::int64_t rows = s.dim(0), results = x.dim(0);
  const View in = k_.sbuf({rows, width, 2}, f32), out = k_.sbuf({results, width}, f32);
  k_.dma_copy({.dst = in.flatten_dims(1, 2), .src = s(all, ds(first * 2, 2 * width))});
  const View sum = k_.psum({kTile, kWide}, f32)(ds(0, results), ds(0, width));
  for (int i = 0; i < 2; ++i) add(sum, i == 0 ? cos_ : minus_sin_, part(in, i));
  evict(k_, out, sum, 1);
  k_.dma_copy({.dst = x(all, ds(first, width)), .src = out});
}

}  // namespace kiln::kernels
