#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kiln/num/plain/plain.h"

namespace kiln::plain {
namespace {

// The first `columns` of each row as float32, without gaps.
std::vector<float> values_of(const Factor& f, std::size_t rows, std::size_t columns) {
  std::vector<float> values(rows * columns);
  const auto* from = static_cast<const std::byte*>(f.data);
  for (std::size_t i = 0; i < rows; ++i, from += f.stride * size_bytes(f.dtype))
    load(f.dtype, from, f.paired ? 2 : 1, columns, values.data() + i * columns);
  return values;
}

}  // namespace

std::uint32_t matmul(const Factor& a, const Factor& b, float* out, std::ptrdiff_t out_stride, std::size_t k,
                     std::size_t m, std::size_t n, bool accumulate, const Soon&) {
  std::uint32_t found = 0;
  const std::vector<float> left = values_of(a, k, m), right = values_of(b, k, n);
  for (std::size_t row = 0; row < m; ++row) {
    float* const out_row = out + static_cast<std::ptrdiff_t>(row) * out_stride;
    for (std::size_t column = 0; column < n; ++column) {
      float sum = 0.0f;
      for (std::size_t i = 0; i < k; ++i) sum = std::fma(left[i * m + row], right[i * n + column], sum);
      out_row[column] = accumulate ? out_row[column] + sum : sum;
    }
    found = std::max(found, largest(sizeof *out, out_row, 1, n));
  }
  return found;
}

}  // namespace kiln::plain
