#include "kernels/fft/double_transform.h"

#include <algorithm>
#include <cmath>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/fft/double_steps.h"
#include "kernels/fft/host_dft.h"
#include "kernels/fft/pointwise.h"
#include "kernels/fft/row_blocks.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kWidth = 256;  // numbers of a partition at once

// The convolution of a length that has no factors itself.
struct Convolution {
  std::int64_t n, m;
  bool positive;
  DoubleFactors forward{m, false, "forward_"}, backward{m, true, "backward_"};

  explicit Convolution(const DoubleTransformConfig& c) : n(c.n), m(length(c.n)), positive(c.positive) {}

  // The shortest short product of small primes.
  static std::int64_t length(std::int64_t n) {
    std::int64_t best = 0;
    for (const std::int64_t odd : {1, 3, 5, 7, 9, 15}) {
      std::int64_t m = odd;
      while (m < 2 * n - 1) m *= 2;
      if (best == 0 || m < best) best = m;
    }
    return best;
  }

  // e^(± i pi j² / n)
  Complex chirp(std::int64_t j) const {
    const std::int64_t square = product_mod(j, j, 2 * n);
    return root(positive ? square : -square, 2 * n);
  }
  std::vector<Complex> filter() const {
    std::vector<Complex> taps(static_cast<std::size_t>(m));
    for (std::int64_t j = 0; j < n; ++j) {
      taps[static_cast<std::size_t>(j)] = std::conj(chirp(j));
      if (j > 0) taps[static_cast<std::size_t>(m - j)] = std::conj(chirp(j));
    }
    return host_dft(taps);
  }
  // What the filter is divided by, so that none of its numbers exceeds 1.
  static double size_of(const std::vector<Complex>& filter) {
    double most = 0;
    for (const Complex& v : filter) most = std::max(most, std::abs(v));
    return most;
  }
};

bool has_factors(std::int64_t n) { return DoubleFactors(n).is_possible(); }

void add_planes(Tables& tables, const std::string& name, const std::vector<Complex>& values) {
  std::vector<double> planes;
  for (const Complex& v : values) planes.push_back(v.real());
  for (const Complex& v : values) planes.push_back(v.imag());
  add_double_table(tables, name, 1, static_cast<std::int64_t>(planes.size()), planes);
}

// y = x times a table [1, 2 count], planes of x, y and the table having as many numbers as they have.
struct Multiply {
  Kernel& k;
  DoubleView x, y, table;
  DoubleFloat math{k, kTile, kWidth};

  void run(std::int64_t count) {
    const std::int64_t whole = count / kWidth, left = count % kWidth;
    k.tiles(x.high.dim(0), kTile, [&](Index row, std::int64_t rows) {
      const auto block = [&](const Index& first, std::int64_t pieces, std::int64_t width) {
        multiply({.row = row, .rows = rows, .first = first, .pieces = pieces, .width = width});
      };
      k.tiles(whole, kTile / rows, [&](Index i, std::int64_t pieces) { block(i * kWidth, pieces, kWidth); });
      if (left > 0) block(whole * kWidth, 1, left);
    });
  }

  static View plane(const RowBlock& b, const View& v, int which, std::int64_t step) {
    return b.places(v, 1, step == 0 ? Index(0) : b.row, step, b.first + which * (v.dim(1) / 2));
  }
  DoubleView load(const RowBlock& b, const DoubleView& v, int which, std::int64_t step) const {
    const auto one = [&](const View& from) {
      const View to = k.sbuf({b.partitions(), b.width}, f32);
      k.dma_copy({.dst = to, .src = plane(b, from, which, step)});
      return to;
    };
    const View high = one(v.high);
    return {high, one(v.low)};
  }
  void multiply(const RowBlock& b) {
    const DoubleComplex a{load(b, x, 0, 1), load(b, x, 1, 1)}, w{load(b, table, 0, 0), load(b, table, 1, 0)};
    const DoubleComplex z = times(math, a, w);
    for (int which = 0; which < 2; ++which) {
      const DoubleView& found = which == 0 ? z.re : z.im;
      k.dma_copy({.dst = plane(b, y.high, which, 1), .src = found.high});
      k.dma_copy({.dst = plane(b, y.low, which, 1), .src = found.low});
    }
  }
};

void convolve(Kernel& k, const Convolution& c, std::int64_t rows, const DoubleView& x, const DoubleView& y) {
  const DoubleView chirp = double_input(k, "chirp", {1, 2 * c.n}), filter = double_input(k, "filter", {1, 2 * c.m});
  const auto scratch = [&] { return double_hbm(k, {rows, 2 * c.m}); };
  const DoubleView padded = scratch(), spectrum = scratch(), filtered = scratch(), result = scratch();
  Multiply{k, x, padded, chirp}.run(c.n);
  for (const View& v : {padded.high, padded.low}) {
    for (int plane = 0; plane < 2; ++plane) clear_rows(k, v(all, ds(plane * c.m, c.m)), c.n);
  }
  double_steps(k, c.forward, padded, spectrum);
  Multiply{k, spectrum, filtered, filter}.run(c.m);
  double_steps(k, c.backward, filtered, result);
  Multiply{k, result, y, chirp}.run(c.n);
}

}  // namespace

Tables double_transform_tables(const DoubleTransformConfig& config) {
  if (has_factors(config.n)) return DoubleFactors(config.n, config.positive).tables();
  const Convolution c(config);
  Tables tables = c.forward.tables();
  for (Table& t : c.backward.tables()) tables.push_back(std::move(t));
  std::vector<Complex> chirp, filter = c.filter();
  for (std::int64_t j = 0; j < c.n; ++j) chirp.push_back(c.chirp(j));
  const double size = Convolution::size_of(filter) * c.forward.last_power();
  for (Complex& v : filter) v /= size;
  add_planes(tables, "chirp", chirp);
  add_planes(tables, "filter", filter);
  return tables;
}

double double_transform_gain(const DoubleTransformConfig& config) {
  if (has_factors(config.n)) return DoubleFactors(config.n, config.positive).gain();
  const Convolution c(config);
  return c.forward.gain() * c.backward.gain() * static_cast<double>(c.m) /
         (Convolution::size_of(c.filter()) * c.forward.last_power());
}

Program double_transform(const DoubleTransformConfig& c, Target target) {
  require_sizes("double_transform", {c.n, c.rows});
  Kernel k("double_transform", target);
  const DoubleView x = double_input(k, "x", {c.rows, 2 * c.n});
  const View high = k.output("y0", {c.rows, 2 * c.n}, f32);
  const DoubleView y{high, k.output("y1", {c.rows, 2 * c.n}, f32)};
  if (has_factors(c.n))
    double_steps(k, DoubleFactors(c.n, c.positive), x, y);
  else
    convolve(k, Convolution(c), c.rows, x, y);
  return k.finish();
}

std::string double_transform_way(const DoubleTransformConfig& c) {
  const bool factors = has_factors(c.n);
  const DoubleFactors f(factors ? c.n : Convolution::length(c.n));
  std::string name;
  for (const DoubleFactors::Step& s : f.steps()) name += (name.empty() ? "" : "x") + std::to_string(s.n);
  return (factors ? "" : "bluestein ") + name;
}

}  // namespace kiln::kernels
