#include "kernels/fft/host/finer_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/fft/host/double_plan.h"
#include "kernels/fft/host/half_spectrum.h"
#include "kernels/fft/host/plan.h"
#include "kernels/fft/host/row_errors.h"

namespace kiln::fft {
namespace {

using RowList = std::vector<std::int64_t>;

// Some rows of x, each divided by a power of two so that slices do not leave the range of float32, `step` apart.
struct Gathered {
  std::vector<float> x, y;
  std::vector<int> exponents;

  Gathered(const TransformConfig& c, const RowList& rows, const float* from, std::int64_t step)
      : x(static_cast<std::size_t>(c.rows * c.x_width())), y(static_cast<std::size_t>(c.rows * c.y_width())) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float* row = from + rows[i] * c.x_width();
      const auto larger = [](float a, float b) { return std::abs(a) < std::abs(b); };
      const float most = std::abs(*std::max_element(row, row + c.x_width(), larger));
      const int e = most > 0 ? std::ilogb(most) : 0;
      exponents.push_back(e);
      std::transform(row, row + c.x_width(), x.begin() + static_cast<std::int64_t>(i) * step * c.x_width(),
                     [e](float v) { return std::ldexp(v, -e); });
    }
  }
  void put(const TransformConfig& c, const RowList& rows, float* to, std::int64_t step) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float* row = y.data() + static_cast<std::int64_t>(i) * step * c.y_width();
      std::transform(row, row + c.y_width(), to + rows[i] * c.y_width(),
                     [e = exponents[i]](float v) { return std::ldexp(v, e); });
    }
  }
};

// As many rows as the next power of two, so that there are few plans.
TransformConfig slices(const TransformConfig& c, std::size_t rows, std::int64_t step) {
  TransformConfig some = c;
  some.rows = static_cast<std::int64_t>(std::bit_ceil(rows)) * step, some.table_rows = 0;
  some.precision = kernels::Precision::bf16x6;
  return some;
}

void compute_by_slices(const TransformConfig& c, const RowList& rows, const float* x, float* y,
                       backend::Backend backend) {
  if (rows.empty()) return;
  auto finer = plan(slices(c, rows.size(), 1));
  const std::int64_t step = finer->way().paired ? 2 : 1;  // zeros are beside each row
  if (step == 2) finer = plan(slices(c, rows.size(), step));
  Gathered some(finer->config(), rows, x, step);
  finer->execute(some.x.data(), some.y.data(), backend);
  some.put(c, rows, y, step);
}

void compute_exactly(const TransformConfig& c, const RowList& rows, const float* x, float* y,
                     backend::Backend backend) {
  if (rows.empty()) return;
  TransformConfig all = c;
  all.rows = static_cast<std::int64_t>(rows.size());
  Gathered some(all, rows, x, 1);
  const std::vector<float> whole = c.spectrum == Spectrum::whole ? some.x : to_whole(all, some.x.data());
  const std::vector<double> given(whole.begin(), whole.end());
  std::vector<double> found(given.size());
  execute_double("fft", {c.n, all.rows, c.positive || c.spectrum == Spectrum::inverse}, c.scale, given.data(),
                 found.data(), backend);
  const std::vector<float> rounded(found.begin(), found.end());
  if (c.spectrum == Spectrum::whole)
    some.y = rounded;
  else
    from_whole(all, rounded, some.y.data());
  some.put(c, rows, y, 1);
}

}  // namespace

void compute_finer(const TransformConfig& config, const RowList& rows, const float* x, float* y,
                   backend::Backend backend) {
  if (rows.empty()) return;
  const backend::LastCall call = backend::last_call();
  const kernels::Way way = plan(slices(config, rows.size(), 1))->way();
  const std::int64_t parts = config.spectrum == Spectrum::inverse ? 1 : 2, count = config.y_width() / parts;
  const double expected = expected_error(slices(config, 1, 1), way);
  RowList by_slices, exactly;
  for (const std::int64_t r : rows) {
    const Size size = size_of(y + r * config.y_width(), count, parts);
    const double most = expected * (comes_of_peak(config, x + r * config.x_width()) ? kNotRandom : kChirp);
    (is_inexact(size, most, count, parts == 1) ? exactly : by_slices).push_back(r);
  }
  compute_by_slices(config, by_slices, x, y, backend);
  compute_exactly(config, exactly, x, y, backend);
  backend::remember(call);
}

}  // namespace kiln::fft
