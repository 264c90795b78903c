#include "kernels/fft/host/row_balance.h"

#include <algorithm>
#include <cmath>

namespace kiln::fft {
namespace {

double sum_of_squares(const float* row, std::int64_t width) {
  double sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += static_cast<double>(row[i]) * row[i];
  return sum;
}

// What errors of a row depend on: the largest |number| of its results, and the mean of their squares.
struct Size {
  double largest = 0, square = 0;
};
Size size_of(const kernels::TransformConfig& c, const float* row) {
  const std::int64_t parts = c.spectrum == kernels::Spectrum::inverse ? 1 : 2, numbers = c.y_width() / parts;
  Size s;
  for (std::int64_t i = 0; i < numbers; ++i) {
    const double square = sum_of_squares(row + i * parts, parts);
    s.square += square / static_cast<double>(numbers);
    s.largest = std::max(s.largest, std::sqrt(square));
  }
  return s;
}

// Errors of complex transforms were seen to be up to 1.1e-6 of the root of the mean square of results, and beside a
// large one 1e-7 of that: with these limits a pair of rows is below 1e-6 of the largest number of each.
constexpr double kMostMean = 0.6, kMostLargest = 3.5;
bool is_lopsided(const Size& a, const Size& b) {
  const double least = std::min(a.largest, b.largest);
  return least > 0 && (std::sqrt(a.square + b.square) > kMostMean * least ||
                       a.largest + b.largest > kMostLargest * least);  // false with NaN
}

}  // namespace

RowBalance::RowBalance(const kernels::TransformConfig& config, const float* x) : config_(config), x_(x) {
  const std::int64_t width = config.x_width();
  for (std::int64_t r = 0; r < config.rows; ++r) {
    const double sum = sum_of_squares(x + r * width, width);
    // Rows that are not finite are computed apart.
    exponents_.push_back(sum == 0 ? kZero : std::isfinite(sum) ? std::ilogb(std::sqrt(sum)) : 0);
  }
  if (is_needed()) scale();
}

void RowBalance::scale() {
  const std::int64_t width = config_.x_width();
  scaled_.assign(x_, x_ + config_.rows * width);
  for (std::int64_t r = 0; r < config_.rows; ++r) {
    const int e = exponents_[static_cast<std::size_t>(r)];
    if (e == kZero || e == 0) continue;
    float* row = scaled_.data() + r * width;
    std::transform(row, row + width, row, [e](float v) { return std::ldexp(v, -e); });
  }
}

bool RowBalance::finds_lopsided(const float* y) {
  const std::int64_t width = config_.y_width();
  for (std::int64_t r = 0; r + 1 < config_.rows; r += 2) {
    if (exponents_[static_cast<std::size_t>(r)] == kZero || exponents_[static_cast<std::size_t>(r + 1)] == kZero)
      continue;
    if (is_lopsided(size_of(config_, y + r * width), size_of(config_, y + (r + 1) * width))) lopsided_.push_back(r);
  }
  return !lopsided_.empty();
}

std::vector<float> RowBalance::x_alone(int which) const {
  const std::int64_t width = config_.x_width();
  std::vector<float> some(x(), x() + config_.rows * width);
  for (const std::int64_t r : lopsided_) std::fill_n(some.data() + (r + 1 - which) * width, width, 0.0f);
  return some;
}

void RowBalance::take_alone(int which, const float* from, float* y) const {
  const std::int64_t width = config_.y_width();
  for (const std::int64_t r : lopsided_) std::copy_n(from + (r + which) * width, width, y + (r + which) * width);
}

bool RowBalance::is_needed() const {
  for (std::size_t r = 1; r < exponents_.size(); r += 2) {
    const int a = exponents_[r - 1], b = exponents_[r];
    if (a != kZero && b != kZero && a != b) return true;
  }
  return false;
}

void RowBalance::undo(float* y) const {
  const std::int64_t width = config_.y_width();
  for (std::int64_t r = 0; r < config_.rows; ++r) {
    const int e = exponents_[static_cast<std::size_t>(r)];
    float* row = y + r * width;
    if (e == kZero)
      std::fill_n(row, width, 0.0f);
    else if (!scaled_.empty())
      std::transform(row, row + width, row, [e](float v) { return std::ldexp(v, e); });
  }
}

}  // namespace kiln::fft
