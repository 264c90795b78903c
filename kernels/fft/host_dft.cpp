#include "kernels/fft/host_dft.h"

namespace kiln::kernels {
namespace {

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t f = 2; f * f <= n; ++f) {
    if (n % f == 0) return f;
  }
  return n;
}

}  // namespace

// Decimation in time by the smallest factor.
std::vector<Complex> host_dft(const std::vector<Complex>& x) {
  const std::size_t n = x.size();
  if (n <= 1) return x;
  const std::size_t f = smallest_factor(n), m = n / f;
  std::vector<std::vector<Complex>> parts(f, std::vector<Complex>(m));
  for (std::size_t j = 0; j < n; ++j) parts[j % f][j / f] = x[j];
  for (auto& part : parts) part = m > 1 ? host_dft(part) : part;
  std::vector<Complex> y(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < f; ++i)
      y[k] += parts[i][k % m] * root(-product_mod(static_cast<std::int64_t>(i), static_cast<std::int64_t>(k),
                                                  static_cast<std::int64_t>(n)),
                                     static_cast<std::int64_t>(n));
  }
  return y;
}

}  // namespace kiln::kernels
