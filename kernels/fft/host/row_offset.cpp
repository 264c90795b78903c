#include "kernels/fft/host/row_offset.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace kiln::fft {
namespace {

using kernels::Spectrum;
using Number = std::complex<double>;

constexpr std::int64_t kLooks = 32;  // numbers of a row that are looked at before all of them are
constexpr double kMeanShare = 0.1;   // of the mean square, from which on the square of the mean counts
constexpr double kFirstShare = 1;    // of the sum of the others' squares, from which on the first number's does

// A row of numbers that are pairs, or real.
struct Row {
  const float* data;
  std::int64_t count, parts;

  Number at(std::int64_t i) const { return {data[i * parts], parts == 2 ? data[i * parts + 1] : 0.0}; }
};

struct Sums {
  Number sum;
  double squares = 0, most = 0, count = 0;
};
// Of every `step`-th number from `first` on.
Sums sums_of(const Row& row, std::int64_t first, std::int64_t step) {
  Sums s;
  for (std::int64_t i = first; i < row.count; i += step) {
    const double square = std::norm(row.at(i));
    s.sum += row.at(i), s.squares += square, s.most = std::max(s.most, square), ++s.count;
  }
  return s;
}

std::int64_t parts_in(const kernels::TransformConfig& c) { return c.spectrum == Spectrum::forward ? 1 : 2; }

}  // namespace

RowOffset::RowOffset(const kernels::TransformConfig& config, const float* x) : config_(config), x_(x) {
  if (config.n < 2 || config.precision != kernels::Precision::native) return;
  for (std::int64_t r = 0; r < config.rows; ++r) {
    if (const std::optional<Apart> a = found_in(r)) apart_.push_back(*a);
  }
  if (apart_.empty()) return;
  without_.assign(x, x + config.rows * config.x_width());
  for (const Apart& a : apart_) take(a);
}

std::optional<RowOffset::Apart> RowOffset::found_in(std::int64_t r) const {
  const Row row{x_ + r * config_.x_width(), config_.x_width() / parts_in(config_), parts_in(config_)};
  const std::int64_t step = std::max<std::int64_t>(1, row.count / kLooks);
  const Sums some = sums_of(row, 1, step);
  const double first = std::norm(row.at(0));
  const bool is_first = first > some.most, is_mean = std::norm(some.sum) > kMeanShare * some.count * some.squares;
  if (!std::isfinite(some.squares + first) || !(is_first || is_mean)) return {};
  const Sums others = sums_of(row, 1, 1);
  const auto found = [&](bool mean, const Number& v) {
    return Apart{r, mean, static_cast<float>(v.real()), static_cast<float>(v.imag())};
  };
  if (!std::isfinite(others.squares)) return {};
  if (first > kFirstShare * others.squares) return found(false, row.at(0));
  // Half a spectrum has no mean that would be one number of the results.
  const auto count = static_cast<double>(row.count);
  const Number mean = (others.sum + row.at(0)) / count;
  if (config_.spectrum == Spectrum::inverse || std::norm(mean) <= kMeanShare * (others.squares + first) / count)
    return {};
  return found(true, mean);
}

void RowOffset::take(const Apart& a) {
  const std::int64_t parts = parts_in(config_), count = a.is_mean ? config_.x_width() / parts : 1;
  float* row = without_.data() + a.row * config_.x_width();
  for (std::int64_t i = 0; i < count; ++i) {
    row[i * parts] -= a.re;
    if (parts == 2) row[i * parts + 1] -= a.im;
  }
}

void RowOffset::add_to(float* y) const {
  const std::int64_t parts = config_.spectrum == Spectrum::inverse ? 1 : 2;
  for (const Apart& a : apart_) {
    float* row = y + a.row * config_.y_width();
    const double scale = config_.scale * (a.is_mean ? static_cast<double>(config_.n) : 1.0);
    const std::int64_t count = a.is_mean ? 1 : config_.y_width() / parts;
    for (std::int64_t i = 0; i < count; ++i) {
      row[i * parts] = static_cast<float>(row[i * parts] + a.re * scale);
      if (parts == 2) row[i * parts + 1] = static_cast<float>(row[i * parts + 1] + a.im * scale);
    }
  }
}

}  // namespace kiln::fft
