// Transforms beyond float32 against sums in double on the host.
#include <gtest/gtest.h>

#include <random>

#include "kernels/fft/double_steps.h"
#include "kernels/fft/host/double_plan.h"
#include "kernels/fft/host_dft.h"
#include "tests/seed.h"

namespace kiln::fft {
namespace {

using kernels::Complex;
using kernels::DoubleFactors;

std::vector<Complex> transformed(std::vector<Complex> row, bool positive, double scale) {
  const auto conjugate = [&] {
    for (Complex& v : row) v = positive ? std::conj(v) : v;
  };
  conjugate();
  row = kernels::host_dft(row);
  conjugate();
  for (Complex& v : row) v *= scale;
  return row;
}

void expect_right(const DoubleTransformConfig& c, double scale, std::mt19937& random) {
  SCOPED_TRACE(kernels::double_transform_way(c) + ", n " + std::to_string(c.n) + ", rows " + std::to_string(c.rows));
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(2 * c.n * c.rows)), y(x.size());
  for (double& v : x) v = normal(random);
  execute_double("fft", c, scale, x.data(), y.data(), backend::Backend::simulator);
  EXPECT_EQ(backend::last_call().operation, "fft");
  for (std::int64_t r = 0; r < c.rows; ++r) {
    std::vector<Complex> row;
    for (std::int64_t j = 0; j < c.n; ++j) {
      const auto at = static_cast<std::size_t>(2 * (r * c.n + j));
      row.emplace_back(x[at], x[at + 1]);
    }
    const std::vector<Complex> want = transformed(row, c.positive, scale);
    double most = 0, error = 0;
    for (std::int64_t k = 0; k < c.n; ++k) {
      const auto at = static_cast<std::size_t>(2 * (r * c.n + k));
      most = std::max(most, std::abs(want[static_cast<std::size_t>(k)]));
      error = std::max(error, std::abs(Complex(y[at], y[at + 1]) - want[static_cast<std::size_t>(k)]));
    }
    EXPECT_LE(error, 2e-13 * most) << "row " << r;
  }
}

TEST(DoubleTransform, IsRightForEveryWay) {
  const auto seed = kiln::test::seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  for (const auto& [n, rows] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {2, 130}, {64, 3}, {256, 2}, {251 * 2, 5}, {600, 20}, {4096, 3}, {17 * 17 * 17, 2}, {65536, 1}}) {
    expect_right({n, rows, false}, 1, random);
    expect_right({n, rows, true}, 1.0 / static_cast<double>(n), random);
  }
  for (const std::int64_t n : {257, 997, 2 * 263, 8193}) expect_right({n, 2, n % 3 == 0}, 1, random);  // convolutions
  expect_right({1 << 17, 2, false}, 1, random);  // columns of rows that are wider than a tile
}

TEST(DoubleTransform, TakesTheShortestFactors) {
  const auto factors = [](std::int64_t n) {
    std::vector<std::int64_t> found;
    const DoubleFactors f(n);
    for (const DoubleFactors::Step& s : f.steps()) found.push_back(s.n);
    return found;
  };
  EXPECT_EQ(factors(256), (std::vector<std::int64_t>{256}));
  EXPECT_EQ(factors(4096), (std::vector<std::int64_t>{64, 64}));
  EXPECT_EQ(factors(1 << 17), (std::vector<std::int64_t>{64, 64, 32}));
  EXPECT_FALSE(DoubleFactors(2 * 257).is_possible());
}

TEST(DoubleTransform, RefusesWhatItCannotDo) {
  EXPECT_THROW(execute_double("fft", {0, 1}, 1, nullptr, nullptr, backend::Backend::simulator), Error);
  EXPECT_THROW(execute_double("fft", {kLongestDouble + 1, 1}, 1, nullptr, nullptr, backend::Backend::simulator), Error);
}

}  // namespace
}  // namespace kiln::fft
