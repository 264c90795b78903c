#include "kernels/fft/roots.h"

#include <cmath>
#include <numbers>

namespace kiln::kernels {

std::int64_t product_mod(std::int64_t a, std::int64_t b, std::int64_t n) {
  return static_cast<std::int64_t>(static_cast<__int128>(a) * b % n);
}

Complex root(std::int64_t k, std::int64_t n) {
  k %= n;
  if (k < 0) k += n;
  // Into the first eighth of the circle, where sine and cosine are most precise: 8 k / n = octant + rest / n.
  const auto octant = static_cast<int>(8 * static_cast<__int128>(k) / n);
  const auto rest = static_cast<std::int64_t>(8 * static_cast<__int128>(k) % n);
  const bool mirrored = octant % 2 == 1;
  const double angle =
      std::numbers::pi / 4 * (static_cast<double>(mirrored ? n - rest : rest) / static_cast<double>(n));
  double c = std::cos(angle), s = std::sin(angle);
  if ((octant + 1) / 2 % 2 == 1) std::swap(c, s);
  if (octant >= 2 && octant < 6) c = -c;
  if (octant >= 4) s = -s;
  return {c, s};
}

}  // namespace kiln::kernels
