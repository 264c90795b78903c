#include <algorithm>

#include "kernels/blas/product_block.h"
#include "kernels/fft/trip_steps.h"
#include "kernels/fft/two_factor_shape.h"

namespace kiln::kernels {
using namespace two_factor;

// Tables of the first product have a row for each number that is contracted and pairs of columns for the results.
static void add_first_tables(Tables& tables, const TwoFactorConfig& c) {
  const std::int64_t n = first_size(c), copies = first_copies(c), results = first_results(c);
  if (c.spectrum == Spectrum::inverse) {
    const std::int64_t rows = rows_loaded(c);
    Table t(c.prefix + "first_re", kTile, 2 * copies * n);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      for (std::int64_t k2 = 0; k2 < rows; ++k2) {
        for (std::int64_t j2 = 0; j2 < n; ++j2) {
          const Complex w = phase(c, product_mod(k2, j2, n), n);
          const std::int64_t row = copy * rows + k2, column = 2 * (copy * n + j2);
          t(row, column) = static_cast<float>(w.real()), t(row, column + 1) = static_cast<float>(w.imag());
          t(kImaginary + row, column) = static_cast<float>(-w.imag());
          t(kImaginary + row, column + 1) = static_cast<float>(w.real());
        }
      }
    }
    tables.push_back(std::move(t));
    return;
  }
  const std::int64_t contracted = folds_in(c) ? folded_size(n) : copies * n;
  Table re(c.prefix + "first_re", contracted, 2 * copies * results),
      im(c.prefix + "first_im", contracted, 2 * copies * results);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t k = 0; k < results; ++k) {
        const Complex w = phase(c, product_mod(j, k, n), n);
        const std::int64_t row = folds_in(c) ? folded_place(j, n) : copy * n + j, column = 2 * (copy * results + k);
        re(row, column) = static_cast<float>(w.real()), re(row, column + 1) = static_cast<float>(w.imag());
        im(row, column) = static_cast<float>(-w.imag()), im(row, column + 1) = static_cast<float>(w.real());
      }
    }
  }
  tables.push_back(std::move(re));
  if (c.spectrum == Spectrum::whole) tables.push_back(std::move(im));
}

// Of half a spectrum every number but the first and, where there is one, the middle one stands for two: what those two
// count, in the columns of n1 that they are in.
static void add_weights(Tables& tables, const TwoFactorConfig& c) {
  const std::int64_t rows = rows_loaded(c), middle = c.n() / 2;
  Table t(c.prefix + "weight", kTile, 2);
  std::fill(t.values.begin(), t.values.end(), 1.0f);
  for (const std::int64_t half : {std::int64_t{0}, kImaginary}) {
    for (std::int64_t copy = 0; copy < c.q(); ++copy) {
      t(half + copy * rows, 0) = 0.5f;
      if (c.n() % 2 == 0 && !has_middle(c)) t(half + copy * rows + middle / c.n1, middle % c.n1 ? 1 : 0) = 0.5f;
    }
  }
  tables.push_back(std::move(t));
}

// Of folded rows: 0 where the imaginary part of the first number of a partition does not count, else 1.
static void add_keep(Tables& tables, const TwoFactorConfig& c) {
  Table t(c.prefix + "first_keep", folded_size(c.n1), 1);
  std::fill(t.values.begin(), t.values.end(), 1.0f);
  t(0, 0) = t(folded_size(c.n1) - 1, 0) = 0;
  tables.push_back(std::move(t));
}

// Factors between the products, for (re, im): (cos, cos) and (- sin, sin).
static void add_twiddles(Tables& tables, const TwoFactorConfig& c) {
  const std::int64_t rows = second_size(c), columns = first_results(c), copies = second_copies(c);
  Table cosine(c.prefix + "cosine", copies * rows, 2 * columns), sine(c.prefix + "sine", copies * rows, 2 * columns);
  for (std::int64_t r = 0; r < copies * rows; ++r) {
    for (std::int64_t f = 0; f < columns; ++f) {
      const Complex w = phase(c, product_mod(r % rows, f, c.n()), c.n());
      cosine(r, 2 * f) = cosine(r, 2 * f + 1) = static_cast<float>(w.real());
      sine(r, 2 * f) = static_cast<float>(-w.imag()), sine(r, 2 * f + 1) = static_cast<float>(w.imag());
    }
  }
  tables.push_back(std::move(cosine));
  tables.push_back(std::move(sine));
}

// The second product of whole spectra (and of real results): a row for each contracted number, a column for each
// result.
static void add_second_tables(Tables& tables, const TwoFactorConfig& c) {
  const std::int64_t n = second_size(c), copies = second_copies(c), size = copies * n;
  const bool real = c.spectrum == Spectrum::inverse, folds = folds_out(c);
  // Real parts of real and imaginary ones, imaginary parts of them; the last is the first but where results are folded.
  const char* names[] = {"second_cos", "second_minus_sin", "second_sin", "second_im_cos"};
  for (int which = 0; which < (real ? 2 : folds ? 4 : 3); ++which) {
    Table t(c.prefix + names[which], size, folds ? folded_size(n) : size);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t k = 0; k < n; ++k) {
          const Complex w = (real ? 2 : 1) * c.scale * phase(c, product_mod(j, k, n), n);
          const double sign = folds && which >= 2 && k >= n / 2 ? -1 : 1;  // conjugates
          t(copy * n + j, folds ? folded_place(k, n) : copy * n + k) =
              static_cast<float>(sign * (which % 3 == 0 ? w.real()
                                         : which == 1   ? -w.imag()
                                                        : w.imag()));
        }
      }
    }
    tables.push_back(std::move(t));
  }
}

// The second product of real rows: of each copy the whole rows of results, then those that are begun, and from column
// 64 on, in the other order, those whose conjugates count. The middle number has a table of its own where it is a sum
// with alternating signs.
static void add_half_tables(Tables& tables, const TwoFactorConfig& c) {
  const std::int64_t copies = c.q(), size = copies * c.n2, rows = whole_rows(c);
  const char* names[] = {"second_cos", "second_minus_sin", "second_sin"};
  for (int which = 0; which < 3; ++which) {
    Table t(c.prefix + names[which], size, kImaginary + copies * rows);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const auto fill = [&](std::int64_t column, std::int64_t k) {
        for (std::int64_t j = 0; j < c.n2; ++j) {
          const Complex w = c.scale * phase(c, product_mod(j, k, c.n2), c.n2);
          t(copy * c.n2 + j, column) = static_cast<float>(which == 0 ? w.real() : which == 1 ? -w.imag() : w.imag());
        }
      };
      for (std::int64_t k = 0; k < rows; ++k) {
        fill(copy * rows + k, k);
        fill(kImaginary + copy * rows + k, c.n2 - 1 - k);
      }
      if (has_begun_row(c)) fill(copies * rows + copy, rows);
    }
    tables.push_back(std::move(t));
  }
  if (has_begun_row(c)) return;
  Table middle(c.prefix + "middle", size, copies);
  for (std::int64_t row = 0; row < size; ++row)
    middle(row, row / c.n2) = static_cast<float>(row % c.n2 % 2 ? -c.scale : c.scale);
  tables.push_back(std::move(middle));
}

// What the middle number adds to the results: itself with alternating signs.
static void add_alternating(Tables& tables, const TwoFactorConfig& c) {
  Table t(c.prefix + "alternating", kTile, c.n2);
  for (std::int64_t r = 0; r < kTile; ++r) {
    for (std::int64_t j = 0; j < c.n2; ++j) t(r, j) = static_cast<float>(j % 2 ? -c.scale : c.scale);
  }
  tables.push_back(std::move(t));
}

Tables two_factor::parts_of(const TwoFactorConfig& c) {
  Tables tables;
  add_first_tables(tables, c);
  if (c.spectrum == Spectrum::inverse) add_weights(tables, c);
  if (folds_in(c)) add_keep(tables, c);
  add_twiddles(tables, c);
  if (c.spectrum == Spectrum::forward)
    add_half_tables(tables, c);
  else
    add_second_tables(tables, c);
  if (has_middle(c)) add_alternating(tables, c);
  return tables;
}

// Those of k1 + n1 k2 are in row k2 of each of q copies.
Table filter_table(const TwoFactorConfig& c, const std::function<Complex(std::int64_t)>& factor) {
  return pairs_table(c.filter, c.q() * c.n2, c.n1,
                     [&](std::int64_t row, std::int64_t k1) { return factor(k1 + c.n1 * (row % c.n2)); });
}

// They are loaded in two pieces, what the first product needs and the rest: each DMA takes a while to begin.
bool two_factor::is_early(const TwoFactorConfig& c, const Table& t) {
  return t.name.starts_with(c.prefix + "first") || t.name == c.prefix + "weight";
}

Tables two_factor_tables(const TwoFactorConfig& c) {
  const Tables parts = parts_of(c);
  Tables tables;
  for (const bool early : {true, false}) {
    std::int64_t rows = 0, columns = 0, first = 0;
    for (const Table& t : parts) {
      if (is_early(c, t) == early) rows = std::max(rows, t.rows), columns += t.columns;
    }
    Table all(c.prefix + (early ? "early_tables" : "late_tables"), rows, columns);
    for (const Table& t : parts) {
      if (is_early(c, t) != early) continue;
      for (std::int64_t r = 0; r < t.rows; ++r)
        std::copy_n(t.values.begin() + r * t.columns, t.columns, all.values.begin() + r * columns + first);
      first += t.columns;
    }
    tables.push_back(std::move(all));
  }
  return tables;
}

}  // namespace kiln::kernels
