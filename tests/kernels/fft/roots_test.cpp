#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernels/fft/host_dft.h"

namespace kiln::kernels {
namespace {

TEST(Roots, AreThoseOfTheReducedIndex) {
  const std::int64_t n = 8193;
  for (std::int64_t k = 0; k < n; k += 7) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / n;
    for (const std::int64_t turns : {0L, 1L, 1L << 40}) {
      const Complex w = root(k + turns * n, n);
      EXPECT_NEAR(w.real(), static_cast<double>(std::cos(angle)), 2e-16);
      EXPECT_NEAR(w.imag(), static_cast<double>(std::sin(angle)), 2e-16);
    }
    EXPECT_EQ(root(-k, n), std::conj(root(k, n)));
  }
}

TEST(Roots, QuartersAreExact) {
  EXPECT_EQ(root(0, 12), Complex(1, 0));
  EXPECT_EQ(root(3, 12), Complex(0, 1));
  EXPECT_EQ(root(6, 12), Complex(-1, 0));
  EXPECT_EQ(root(9, 12), Complex(0, -1));
}

TEST(Roots, ProductsDoNotOverflow) {
  EXPECT_EQ(product_mod((1LL << 61) + 1, (1LL << 61) + 3, 1000003), [] {
    const auto mod = [](unsigned __int128 v) { return static_cast<std::int64_t>(v % 1000003); };
    return mod(static_cast<unsigned __int128>((1LL << 61) + 1) * ((1LL << 61) + 3));
  }());
}

TEST(HostDft, IsTheSumItSays) {
  for (const std::size_t n : {1u, 2u, 7u, 12u, 30u, 128u}) {
    std::vector<Complex> x(n);
    for (std::size_t j = 0; j < n; ++j)
      x[j] = {std::sin(1.0 + static_cast<double>(j * j)), std::cos(static_cast<double>(j))};
    const std::vector<Complex> y = host_dft(x);
    for (std::size_t k = 0; k < n; ++k) {
      Complex sum = 0;
      for (std::size_t j = 0; j < n; ++j)
        sum += x[j] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n));
      EXPECT_LT(std::abs(y[k] - sum), 1e-12);
    }
  }
}

}  // namespace
}  // namespace kiln::kernels
