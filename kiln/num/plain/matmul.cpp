#include <cmath>

#include "kiln/num/plain/plain.h"

namespace kiln::plain {

void matmul(const float* a, std::ptrdiff_t a_stride, const float* b, std::ptrdiff_t b_stride, float* out,
            std::ptrdiff_t out_stride, std::size_t k, std::size_t m, std::size_t n, bool accumulate) {
  for (std::size_t row = 0; row < m; ++row) {
    float* const out_row = out + static_cast<std::ptrdiff_t>(row) * out_stride;
    for (std::size_t column = 0; column < n; ++column) {
      const float* left = a + row;
      const float* right = b + column;
      float sum = 0.0f;
      for (std::size_t i = 0; i < k; ++i, left += a_stride, right += b_stride) sum = std::fma(*left, *right, sum);
      out_row[column] = accumulate ? out_row[column] + sum : sum;
    }
  }
}

}  // namespace kiln::plain
