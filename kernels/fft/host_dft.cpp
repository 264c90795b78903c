#include "kernels/fft/host_dft.h"

namespace kiln::kernels {
namespace {

std::int64_t smallest_factor(std::int64_t n) {
  for (std::int64_t f = 2; f * f <= n; ++f) {
    if (n % f == 0) return f;
  }
  return n;
}

// Decimation in time by the smallest factor: y(0 … n) from every `step`-th of x. The roots are those of the whole
// length, of which n is a `step`-th part.
void dft_of_part(const Complex* x, std::int64_t n, std::int64_t step, const std::vector<Complex>& roots, Complex* y) {
  if (n == 1) {
    y[0] = x[0];
    return;
  }
  const std::int64_t f = smallest_factor(n), m = n / f;
  for (std::int64_t i = 0; i < f; ++i) dft_of_part(x + i * step, m, step * f, roots, y + i * m);
  const auto turned = [&](std::int64_t turns) { return roots[static_cast<std::size_t>(turns % n * step)]; };
  std::vector<Complex> parts(static_cast<std::size_t>(f));
  for (std::int64_t k = 0; k < m; ++k) {
    for (std::int64_t i = 0; i < f; ++i) parts[static_cast<std::size_t>(i)] = y[i * m + k] * turned(i * k);
    for (std::int64_t q = 0; q < f; ++q) {
      Complex sum = parts[0];
      for (std::int64_t i = 1; i < f; ++i) sum += parts[static_cast<std::size_t>(i)] * turned(i * q % f * m);
      y[q * m + k] = sum;
    }
  }
}

}  // namespace

std::vector<Complex> host_dft(const std::vector<Complex>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  if (n <= 1) return x;
  std::vector<Complex> roots(x.size()), y(x.size());
  for (std::int64_t k = 0; k < n; ++k) roots[static_cast<std::size_t>(k)] = root(-k, n);
  dft_of_part(x.data(), n, 1, roots, y.data());
  return y;
}

}  // namespace kiln::kernels
