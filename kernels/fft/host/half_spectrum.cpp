#include "kernels/fft/host/half_spectrum.h"

#include <algorithm>

namespace kiln::fft {
using kernels::Spectrum;
using kernels::TransformConfig;

std::vector<float> to_whole(const TransformConfig& c, const float* x) {
  std::vector<float> whole(static_cast<std::size_t>(c.rows * 2 * c.n));
  const std::int64_t half = c.n / 2 + 1;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const float* from = x + row * c.x_width();
    float* to = whole.data() + row * 2 * c.n;
    for (std::int64_t i = 0; i < c.n; ++i) {
      if (c.spectrum == Spectrum::forward) {
        to[2 * i] = from[i];
      } else {
        const std::int64_t at = i < half ? i : c.n - i;
        to[2 * i] = from[2 * at], to[2 * i + 1] = i < half ? from[2 * at + 1] : -from[2 * at + 1];
      }
    }
    // What is real in the spectrum of real rows counts as real.
    if (c.spectrum == Spectrum::inverse) {
      to[1] = 0;
      if (c.n % 2 == 0) to[c.n + 1] = 0;
    }
  }
  return whole;
}

void from_whole(const TransformConfig& c, const std::vector<float>& whole, float* y) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const float* from = whole.data() + row * 2 * c.n;
    float* to = y + row * c.y_width();
    if (c.spectrum == Spectrum::forward) {
      std::copy_n(from, c.y_width(), to);
    } else {
      for (std::int64_t i = 0; i < c.n; ++i) to[i] = from[2 * i];
    }
  }
}

}  // namespace kiln::fft
