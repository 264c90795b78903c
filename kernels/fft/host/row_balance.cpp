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

}  // namespace

RowBalance::RowBalance(const kernels::TransformConfig& config, const float* x) : config_(config), x_(x) {
  const std::int64_t width = config.x_width();
  double before = 0;  // the norm of the first row of a pair
  for (std::int64_t r = 0; r < config.rows; ++r) {
    const double norm = std::sqrt(sum_of_squares(x + r * width, width));
    // Rows that are not finite are computed apart.
    const bool counts = norm > 0 && std::isfinite(norm);
    if (counts && r % 2 == 1 && before > 0)  // the nearest power, else two norms beside one would come to differ
      exponents_.push_back(exponents_.back() + static_cast<int>(std::lround(std::log2(norm / before))));
    else
      exponents_.push_back(norm == 0 ? kZero : counts ? std::ilogb(norm) : 0);
    before = counts ? norm : 0;
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
