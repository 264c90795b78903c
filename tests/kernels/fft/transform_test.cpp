#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/blas/split.h"
#include "kernels/fft/host_dft.h"
#include "kernels/fft/transform.h"
#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

using Row = std::vector<Complex>;

// The rows of a transform in double: numbers in, numbers out.
Row transformed(const TransformConfig& c, Row x) {
  if (c.positive || c.spectrum == Spectrum::inverse) {
    for (Complex& v : x) v = std::conj(v);
    x = host_dft(x);
    for (Complex& v : x) v = std::conj(v);
  } else {
    x = host_dft(x);
  }
  for (Complex& v : x) v *= c.scale;
  return x;
}

Row row_of(const TransformConfig& c, const Matrix& x, std::int64_t r) {
  Row row(static_cast<std::size_t>(c.n));
  const std::int64_t half = c.n / 2 + 1;
  for (std::int64_t j = 0; j < c.n; ++j) {
    Complex& v = row[static_cast<std::size_t>(j)];
    if (c.spectrum == Spectrum::forward)
      v = x(r, j);
    else if (c.spectrum == Spectrum::whole || j < half)
      v = {x(r, 2 * j), x(r, 2 * j + 1)};
    else
      v = std::conj(Complex{x(r, 2 * (c.n - j)), x(r, 2 * (c.n - j) + 1)});
  }
  if (c.spectrum == Spectrum::inverse) {
    row[0] = row[0].real();
    if (c.n % 2 == 0) row[static_cast<std::size_t>(c.n / 2)] = row[static_cast<std::size_t>(c.n / 2)].real();
  }
  return row;
}

// Runs a transform one way and compares with the sums in double: 1e-6 of the largest number of a row, and four times
// what a product of split operands loses.
void expect_right(const TransformConfig& c, const Way& way, Target target, Random& random) {
  SCOPED_TRACE(way.name() + ", n " + std::to_string(c.n) + ", rows " + std::to_string(c.rows) + ", spectrum " +
               std::to_string(static_cast<int>(c.spectrum)) + ", precision " +
               std::to_string(static_cast<int>(c.precision)) + " seed " + std::to_string(random.seed()));
  Arrays inputs{{"x", random.matrix(c.rows, c.x_width())}};
  for (const Table& t : transform_tables(c, way)) {
    Matrix m(t.rows, t.columns);
    m.values.assign(t.values.begin(), t.values.end());
    if (t.dtype == DType::uint32) {
      for (double& v : m.values) v = std::bit_cast<std::uint32_t>(static_cast<float>(v));
    }
    inputs[t.name] = m;
  }
  const Matrix got = run(transform(c, way, target), inputs)["y"];
  Matrix want(c.rows, c.y_width()), bound = want;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const Row y = transformed(c, row_of(c, inputs["x"], r));
    double largest = 0;
    for (const Complex& v : y) largest = std::max(largest, std::abs(v));
    for (std::int64_t i = 0; i < c.y_width(); ++i) {
      const bool real = c.spectrum == Spectrum::inverse;
      const Complex& v = y[static_cast<std::size_t>(real ? i : i / 2)];
      want(r, i) = real || i % 2 == 0 ? v.real() : v.imag();
      bound(r, i) = (1e-6 + 4 * product_error(c.precision)) * largest;
    }
  }
  expect_within(got, want, bound, "y");
}

constexpr Spectrum kSpectra[] = {Spectrum::whole, Spectrum::forward, Spectrum::inverse};

TEST(Transform, EveryWayOfEveryKind) {
  Random random;
  int turn = 0;
  for (const Spectrum spectrum : kSpectra) {
    for (const std::int64_t n : {1, 3, 127, 257, 300, 1001, 1024, 2048, 16384}) {
      const TransformConfig c{.n = n,
                              .rows = random.size(1, n > 4000 ? 9 : 40),
                              .spectrum = spectrum,
                              .positive = turn % 2 == 1,
                              .scale = turn % 3 == 0 ? 1.0 : 1.0 / static_cast<double>(n)};
      std::vector<Way> some = ways(c);
      if (some.size() > 4) some.erase(some.begin() + 2, some.end() - 2);  // the best and the worst
      for (const Way& way : some) expect_right(c, way, kTargets[turn++ % 3], random);
    }
  }
}

TEST(Transform, Bluestein) {
  Random random;
  for (const std::int64_t n : {263, 997, 4097, 8193}) {
    const TransformConfig c{.n = n, .rows = n > 4000 ? 1 : random.size(1, 20)};
    const std::vector<Way> all = ways(c);
    const auto found = std::find_if(all.begin(), all.end(), [](auto& w) { return w.kind == Way::Kind::bluestein; });
    ASSERT_NE(found, all.end());
    expect_right(c, *found, Target::trn2, random);
  }
}

TEST(Transform, Rader) {
  Random random;
  int turn = 0;
  for (const std::int64_t n : {257, 641, 997, 8191}) {
    for (const bool positive : {false, true}) {
      const TransformConfig c{.n = n,
                              .rows = n > 4000 ? 2 : random.size(1, 140),
                              .positive = positive,
                              .scale = positive ? 1.0 / static_cast<double>(n) : 1.0};
      const std::vector<Way> all = ways(c);
      const auto found = std::find_if(all.begin(), all.end(), [](auto& w) { return w.kind == Way::Kind::rader; });
      ASSERT_NE(found, all.end());
      expect_right(c, *found, kTargets[turn++ % 3], random);
    }
  }
}

// Real rows of lengths that two factors have not: as complex rows of half the length, or by a shorter convolution.
TEST(Transform, RealRowsOfOtherLengths) {
  Random random;
  int turn = 0;
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    for (const std::int64_t n : {2 * 131, 2 * 997, 4 * 137, 4099, 32768, 34000, 2 * 8193, 17 * 131}) {
      const TransformConfig c{.n = n,
                              .rows = n > 5000 ? random.size(1, 3) : random.size(1, 40),
                              .spectrum = spectrum,
                              .positive = turn % 2 == 1,
                              .scale = turn % 3 == 0 ? 1.0 : 1.0 / static_cast<double>(n)};
      std::vector<Way> some = ways(c);
      if (some.size() > 3) some.erase(some.begin() + 1, some.end() - 1);
      for (const Way& way : some) expect_right(c, way, kTargets[turn++ % 3], random);
    }
  }
}

// Two real rows as one complex one: pairs beyond the partitions, a last row without another, every kind of way.
TEST(Transform, PairsOfRealRows) {
  Random random;
  int turn = 0;
  struct Length {
    std::int64_t n, most_rows;
  };
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    for (const Length& l :
         {Length{257, 300}, {1031, 140}, {4099, 9}, {4051, 5}, {17 * 131, 3}, {16807, 3}, {19683, 13}}) {
      const TransformConfig c{.n = l.n,
                              .rows = random.size(2, l.most_rows),
                              .spectrum = spectrum,
                              .positive = turn % 2 == 1,
                              .scale = turn % 3 == 0 ? 1.0 : 1.0 / static_cast<double>(l.n)};
      std::vector<Way> some = ways(c);
      std::erase_if(some, [](const Way& w) { return !w.paired; });
      ASSERT_FALSE(some.empty()) << l.n;
      if (some.size() > 2) some.erase(some.begin() + 1, some.end() - 1);
      for (const Way& way : some) expect_right(c, way, kTargets[turn++ % 3], random);
    }
  }
}

// Rader's algorithm joins rows where it puts them in order; with a row that is left alone they are joined before.
TEST(Transform, PairsByRader) {
  Random random;
  int turn = 0;
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    for (const std::int64_t rows : {std::int64_t{2}, 2 * random.size(2, 20), std::int64_t{260}, std::int64_t{7}}) {
      const TransformConfig c{.n = rows > 200 ? 257 : 4051, .rows = rows, .spectrum = spectrum, .scale = 0.5};
      std::vector<Way> some = ways(c);
      std::erase_if(some, [](const Way& w) { return !w.paired || w.kind != Way::Kind::rader; });
      ASSERT_FALSE(some.empty());
      expect_right(c, some.front(), kTargets[turn++ % 3], random);
    }
  }
}

// Even and odd factors, long ones and short ones, and batches of one share of rows, of several, and of a loop of them.
TEST(Transform, RowsInTwoFactors) {
  Random random;
  int turn = 0;
  const std::pair<std::int64_t, std::int64_t> factors[] = {{2, 2},   {3, 2},   {2, 3},   {5, 7},   {9, 8},   {8, 9},
                                                           {64, 2},  {2, 64},  {3, 128}, {128, 3}, {127, 5}, {5, 127},
                                                           {16, 64}, {64, 16}, {31, 33}, {1, 9},   {20, 50}};
  for (const Spectrum spectrum : kSpectra) {
    for (const auto& [n1, n2] : factors) {
      const std::int64_t n = n1 * n2, most = std::clamp<std::int64_t>(40000 / n, 4, 1500);
      for (const std::int64_t rows : {random.size(1, 4), random.size(5, most / 4 + 5), random.size(most / 4, most)}) {
        const TransformConfig c{.n = n,
                                .rows = rows,
                                .spectrum = spectrum,
                                .positive = turn % 2 == 1,
                                .scale = turn % 3 == 0 ? 1.0 : 0.5,
                                .precision = turn % 5 == 0 ? Precision::bf16x6 : Precision::native};
        expect_right(c, {Way::Kind::two_factor, 1, n1, n2}, kTargets[turn++ % 3], random);
      }
    }
  }
}

// Operands of products as sums of bfloat16 numbers: one program, as any other.
TEST(Transform, SplitOperands) {
  Random random;
  int turn = 0;
  for (const Precision precision : {Precision::bf16, Precision::bf16x3, Precision::bf16x6}) {
    for (const Spectrum spectrum : kSpectra) {
      for (const std::int64_t n : {30, 257, 600, 1031, 20000}) {
        const TransformConfig c{.n = n,
                                .rows = random.size(1, n > 4000 ? 2 : 20),
                                .spectrum = spectrum,
                                .positive = turn % 2 == 1,
                                .scale = turn % 3 == 0 ? 1.0 : 0.5,
                                .precision = precision};
        const std::vector<Way> some = ways(c);
        expect_right(c, some[static_cast<std::size_t>(random.size(0, static_cast<std::int64_t>(some.size()) - 1))],
                     kTargets[turn++ % 3], random);
      }
    }
  }
}

// Two factors of which one is longer than the partitions are many, cut into two pieces or four; rows of one pass and of
// several, the last of which is not full.
TEST(Transform, RealRowsWithALongFactor) {
  Random random;
  int turn = 0;
  const Way some[] = {{Way::Kind::two_factor, 1, 2, 130},  {Way::Kind::two_factor, 1, 5, 254},
                      {Way::Kind::two_factor, 1, 64, 256}, {Way::Kind::two_factor, 1, 3, 260},
                      {Way::Kind::two_factor, 1, 16, 512}, {Way::Kind::two_factor, 1, 127, 132}};
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    for (const Way& way : some) {
      for (const Precision precision : {Precision::native, Precision::bf16x6}) {
        const TransformConfig c{.n = way.product(),
                                .rows = turn % 4 == 0 ? 1 : random.size(2, 11),
                                .spectrum = spectrum,
                                .positive = turn % 2 == 1,
                                .scale = turn % 3 == 0 ? 1.0 : 0.5,
                                .precision = precision};
        expect_right(c, way, kTargets[turn++ % 3], random);
      }
    }
  }
  for (const std::int64_t n : {20000, 32768, 65536}) {
    const std::vector<Way> all = ways({.n = n, .spectrum = Spectrum::forward});
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Way& w) { return w.n2 > 128; })) << n;
  }
}

// Small factors, odd first ones and tails of every kind, so that all of it is cheap to run.
TEST(Transform, RealRowsInThreeFactors) {
  Random random;
  int turn = 0;
  const Way forward[] = {{Way::Kind::three_factor, 2, 3, 4},     {Way::Kind::three_factor, 5, 7, 6},
                         {Way::Kind::three_factor, 64, 5, 20},   {Way::Kind::three_factor, 9, 96, 2},
                         {Way::Kind::three_factor, 128, 3, 128}, {Way::Kind::three_factor, 127, 2, 66}};
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    for (Way way : forward) {
      if (spectrum == Spectrum::inverse) std::swap(way.n1, way.n2);
      const TransformConfig c{.n = way.product(),
                              .rows = random.size(1, way.product() > 4000 ? 2 : 20),
                              .spectrum = spectrum,
                              .positive = turn % 2 == 1,
                              .scale = turn % 3 == 0 ? 1.0 : 0.5};
      expect_right(c, way, kTargets[turn++ % 3], random);
    }
  }
}

// Odd factors and even ones, blocks that are full and last ones that are not, one row and several.
TEST(Transform, ThreeFactorsInOneTrip) {
  Random random;
  int turn = 0;
  const std::int64_t factors[][3] = {{2, 3, 4},   {5, 7, 6},    {9, 2, 2},    {64, 5, 20}, {7, 128, 64},
                                     {128, 6, 8}, {127, 10, 2}, {33, 64, 18}, {3, 5, 128}, {16, 127, 14}};
  for (const Spectrum spectrum : kSpectra) {
    for (const auto& [n0, n1, n2] : factors) {
      Way way{Way::Kind::three_factor, n0, n1, n2};
      way.one_trip = true, way.halved = spectrum == Spectrum::inverse;
      const TransformConfig c{.n = way.product() * (way.halved ? 2 : 1),
                              .rows = random.size(1, way.product() > 4000 ? 3 : 20),
                              .spectrum = spectrum,
                              .positive = turn % 2 == 1,
                              .scale = turn % 3 == 0 ? 1.0 : 0.5,
                              .precision = turn % 5 == 0 ? Precision::bf16x6 : Precision::native};
      expect_right(c, way, kTargets[turn++ % 3], random);
    }
  }
  // Real rows of odd lengths.
  for (const auto& [n0, n1, n2] :
       {std::array<std::int64_t, 3>{3, 3, 3}, {9, 5, 7}, {81, 9, 3}, {63, 125, 5}, {5, 127, 27}, {127, 3, 9}}) {
    for (const std::int64_t rows : {std::int64_t{1}, random.size(2, 6)}) {
      Way way{Way::Kind::three_factor, n0, n1, n2};
      way.one_trip = true;
      const TransformConfig c{
          .n = way.product(), .rows = rows, .spectrum = Spectrum::forward, .positive = turn % 2 == 1};
      expect_right(c, way, kTargets[turn++ % 3], random);
    }
  }
  // Two real rows as one complex one, even lengths and odd ones, with a row that is left alone or without.
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    for (const auto& [n0, n1, n2] : {std::array<std::int64_t, 3>{7, 9, 5}, {64, 33, 4}, {5, 2, 2}, {127, 9, 3}}) {
      for (const std::int64_t rows : {std::int64_t{2}, std::int64_t{3}, random.size(4, 9), 2 * random.size(4, 5)}) {
        Way way{Way::Kind::three_factor, n0, n1, n2};
        way.one_trip = way.paired = true;
        const TransformConfig c{.n = way.product(), .rows = rows, .spectrum = spectrum, .scale = 0.5};
        expect_right(c, way, kTargets[turn++ % 3], random);
      }
    }
  }
  for (const std::int64_t n : {20000, 131072, 262144}) {
    const std::vector<Way> all = ways({.n = n, .spectrum = Spectrum::forward});
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Way& w) { return w.one_trip; })) << n;
  }
}

// Half spectra whose conjugates are turned round on the chip: halves that leave partitions unused and those that do
// not, odd first factors and even ones, last blocks that are not full, one row, two and a loop of them.
TEST(Transform, HalfSpectraInOneTrip) {
  Random random;
  int turn = 0;
  const std::int64_t factors[][3] = {{3, 2, 2},   {8, 64, 16},  {5, 40, 10},  {4, 128, 8}, {7, 100, 12},
                                     {16, 8, 33}, {9, 128, 5},  {64, 4, 128}, {3, 62, 7},  {32, 24, 64},
                                     {12, 2, 9},  {10, 66, 31}, {127, 6, 3},  {3, 3, 3},   {9, 81, 27},
                                     {5, 127, 7}, {27, 63, 9},  {3, 65, 127}, {125, 5, 3}};
  for (const auto& [n0, n1, n2] : factors) {
    Way way{Way::Kind::three_factor, n0, n1, n2};
    way.one_trip = true;
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{2}, random.size(3, 6)}) {
      const TransformConfig c{.n = way.product(),
                              .rows = rows,
                              .spectrum = Spectrum::inverse,
                              .scale = turn % 3 == 0 ? 1.0 : 0.5,
                              .precision = turn % 5 == 0 ? Precision::bf16x6 : Precision::native};
      expect_right(c, way, kTargets[turn++ % 3], random);
    }
  }
  for (const std::int64_t n : {20000, 131072, 262144}) {
    const std::vector<Way> all = ways({.n = n, .spectrum = Spectrum::inverse});
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Way& w) { return w.one_trip && !w.halved; })) << n;
  }
}

// Zeros before the first products change nothing, of whatever width the first sum is.
TEST(Transform, WarmUp) {
  Random random;
  int turn = 0;
  const auto expect = [&](Way way, Spectrum spectrum) {
    way.warm_up = random.size(1, 1500);
    const TransformConfig c{.n = way.product() * (way.halved ? 2 : 1),
                            .rows = random.size(1, 9),
                            .spectrum = spectrum,
                            .precision = turn % 3 == 0 ? Precision::bf16x6 : Precision::native};
    expect_right(c, way, kTargets[turn++ % 3], random);
  };
  for (const Spectrum spectrum : kSpectra) {
    for (const auto& [n1, n2] : {std::pair<std::int64_t, std::int64_t>{5, 7}, {64, 16}, {33, 128}})
      expect({Way::Kind::two_factor, 1, n1, n2}, spectrum);
    Way trip{Way::Kind::three_factor, 12, 10, 4};
    trip.one_trip = true;
    expect(trip, spectrum);
  }
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    expect({Way::Kind::two_factor, 1, 16, 260}, spectrum);
    Way trip{Way::Kind::three_factor, 9, 10, 5};
    trip.one_trip = trip.paired = true;
    expect(trip, spectrum);
  }
}

TEST(Transform, ThreeFactors) {
  Random random;
  for (const std::int64_t n : {32768, 17000, 65536}) {
    const TransformConfig c{.n = n, .rows = n > 40000 ? 1 : 3};
    expect_right(c, ways(c).front(), Target::trn1, random);
  }
}

TEST(Transform, LegalEverywhere) {
  for (const Spectrum spectrum : kSpectra) {
    for (const std::int64_t n : {1, 100, 1000, 4096, 10000}) {
      const TransformConfig c{.n = n, .rows = 128, .spectrum = spectrum};
      for (const Way& way : ways(c)) expect_legal([&](Target t) { return transform(c, way, t); });
    }
  }
  const TransformConfig longest{.n = kLongest}, prime{.n = 1048583}, real{.n = 1 << 20, .spectrum = Spectrum::inverse};
  for (const TransformConfig& c : {longest, prime, real})
    expect_legal([&](Target t) { return transform(c, ways(c).front(), t); });
}

}  // namespace
}  // namespace kiln::kernels::test
