#include "kiln/num/plain/plain.h"

namespace kiln::plain {

void scaled_sum(const float* x, std::ptrdiff_t x_stride, const float* s, const float* y, std::ptrdiff_t y_stride,
                float* out, std::ptrdiff_t out_stride, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride, out += out_stride) {
    for (std::size_t i = 0; i < n; ++i) {
      const float product = x[i] * s[r];
      out[i] = product + y[i];
    }
  }
}

}  // namespace kiln::plain
