#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kiln/num/fast/fast.h"
#include "kiln/num/few_places.h"
#include "kiln/num/known_table.h"
#include "kiln/num/plain/plain.h"
#include "tests/num/each_target.h"
#include "tests/num/random_rows.h"

namespace kiln {
namespace {

using Random = std::mt19937;
using Kernel = decltype(Kernels::matmul);

Random make_random() { return Random(static_cast<unsigned>(test::seed())); }

std::size_t between(Random& random, std::size_t low, std::size_t high) {
  return std::uniform_int_distribution<std::size_t>(low, high)(random);
}

enum class Values { ordinary, tiny, special };

float random_special(Random& random) {
  using Limits = std::numeric_limits<float>;
  static constexpr float kSpecials[] = {
      0.0f, 1.0f, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), Limits::quiet_NaN()};
  const float magnitude = kSpecials[between(random, 0, std::size(kSpecials) - 1)];
  return between(random, 0, 1) ? magnitude : -magnitude;
}

float random_value(Random& random, Values values) {
  if (values == Values::special && between(random, 0, 199) == 0) return random_special(random);
  const float ordinary = std::normal_distribution<float>()(random);
  // Products of two such values are near the smallest normal number, so the sums pass through subnormals.
  return values == Values::tiny ? ordinary * 0x1p-64f : ordinary;
}

// Between rows: none, a few elements, or more than the rows of an operand may lie apart that is read in place.
std::size_t random_gap(Random& random) {
  return between(random, 0, 1) ? 0 : between(random, 0, 7) ? between(random, 0, 40) : 1100;
}

struct Matrix {
  Matrix(std::size_t rows, std::size_t columns, std::vector<float> data)
      : rows(rows), columns(columns), stride(columns), data(std::move(data)) {}
  Matrix(Random& random, std::size_t rows, std::size_t columns, Values values)
      : rows(rows), columns(columns), stride(columns + random_gap(random)) {
    data.resize(rows * stride);
    for (float& value : data) value = random_value(random, values);
  }
  float at(std::size_t row, std::size_t column) const { return data[row * stride + column]; }

  std::size_t rows, columns, stride;
  std::vector<float> data;
};

std::ptrdiff_t stride_of(const Matrix& matrix) { return static_cast<std::ptrdiff_t>(matrix.stride); }

Matrix matmul(Kernel kernel, const Matrix& a, const Matrix& b, Matrix out, bool accumulate) {
  kernel({DType::float32, a.data.data(), stride_of(a)}, {DType::float32, b.data.data(), stride_of(b)}, out.data.data(),
         stride_of(out), a.rows, a.columns, b.columns, accumulate, {});
  return out;
}

// A matrix rounded to bfloat16, as it is, or with a NaN between its elements: what a kernel gets, and the same values
// in float32.
struct Rounded {
  Rounded(Random& random, Matrix from) : values(std::move(from)), dtype(DType::float32) {
    const std::size_t kind = between(random, 0, 2);
    if (kind == 1 && !values.data.empty()) {
      pairs.resize(2 * values.data.size() - 1, std::numeric_limits<float>::quiet_NaN());
      for (std::size_t i = 0; i < values.data.size(); ++i) pairs[2 * i] = values.data[i];
    }
    if (kind < 2) return;
    dtype = DType::bfloat16;
    bits.resize(values.data.size());
    plain::store(dtype, values.data.data(), bits.size(), bits.data(), 1);
    plain::load(dtype, bits.data(), 1, bits.size(), values.data.data());
  }
  Factor factor() const {
    if (!pairs.empty()) return {dtype, pairs.data(), 2 * stride_of(values), true};
    if (dtype == DType::float32) return {dtype, values.data.data(), stride_of(values)};
    return {dtype, bits.data(), stride_of(values)};
  }

  Matrix values;
  DType dtype;
  std::vector<std::uint16_t> bits;
  std::vector<float> pairs;
};

bool same(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (std::isnan(x) && std::isnan(y));
}

// Compares also what lies between the rows, which the kernel may not touch.
void expect_same(const Matrix& plain, const Matrix& fast) {
  for (std::size_t i = 0; i < plain.data.size(); ++i) {
    ASSERT_TRUE(same(plain.data[i], fast.data[i])) << "row " << i / plain.stride << " column " << i % plain.stride
                                                   << ": plain has " << plain.data[i] << ", fast has " << fast.data[i];
  }
}

// What a kernel tells is the largest magnitude of its results: that of a NaN is open, and ~0u tells nothing.
void expect_told(std::uint32_t told, const Matrix& out, bool must_tell) {
  std::uint32_t largest = 0;
  for (std::size_t row = 0; row < out.rows; ++row) {
    for (std::size_t column = 0; column < out.columns; ++column)
      largest = std::max(largest, std::bit_cast<std::uint32_t>(out.at(row, column)) & 0x7fffffffu);
  }
  constexpr std::uint32_t kInfinity = 0x7f800000u;
  if (told == ~0u && !must_tell) return;
  ASSERT_NE(told, ~0u);
  if (largest > kInfinity)
    EXPECT_GT(told, kInfinity);
  else
    EXPECT_EQ(told, largest);
}

void expect_fast_is_plain(Random& random, Matrix left, Matrix right) {
  const std::size_t k = left.rows, m = left.columns, n = right.columns;
  const bool accumulate = between(random, 0, 1) == 1;
  const Rounded a(random, std::move(left)), b(random, std::move(right));
  const Matrix out(random, m, n, static_cast<Values>(between(random, 0, 2)));
  SCOPED_TRACE(testing::Message() << "k " << k << " m " << m << " n " << n << " accumulate " << accumulate << " "
                                  << name(a.dtype) << " " << name(b.dtype));
  const Matrix want = matmul(plain::matmul, a.values, b.values, out, accumulate);
  for (const Kernel kernel : {plain::matmul, fast::matmul}) {
    Matrix got = out;
    // What comes soon, whatever it is, changes nothing.
    const Soon soon{out.data.data(), between(random, 0, 1) ? 4096 : -64, between(random, 0, 200), 1000};
    expect_told(kernel(a.factor(), b.factor(), got.data.data(), stride_of(got), k, m, n, accumulate, soon), got,
                kernel == plain::matmul);
    expect_same(want, got);
  }
}

void expect_fast_is_plain(Random& random, std::size_t k, std::size_t m, std::size_t n) {
  const auto values = static_cast<Values>(between(random, 0, 2));
  expect_fast_is_plain(random, Matrix(random, k, m, values), Matrix(random, k, n, values));
}

class FastMatmul : public test::EachTarget {
 protected:
  Random random_ = make_random();
};
INSTANTIATE_TEST_SUITE_P(Targets, FastMatmul, testing::ValuesIn(test::targets_of_this_cpu()), test::target_name);

TEST_P(FastMatmul, EqualsPlainAtRandomSizes) {
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
    expect_fast_is_plain(random_, between(random_, 1, 140), between(random_, 1, 140), between(random_, 1, 530));
  }
}

TEST_P(FastMatmul, EqualsPlainForEveryBlockShape) {
  for (std::size_t m = 1; m <= 30; ++m) {
    for (std::size_t n = 1; n <= 66 && !HasFatalFailure(); ++n) {
      expect_fast_is_plain(random_, between(random_, 0, 5), m, n);
    }
  }
}

// Sums of rows with weights, of which some vectors, one, or a part of one are left beside the whole blocks.
TEST_P(FastMatmul, EqualsPlainForOneRowAndOneColumn) {
  for (std::size_t n = 1; n <= 850 && !HasFatalFailure(); n += n < 420 ? 1 : 13) {
    expect_fast_is_plain(random_, between(random_, 1, 40), 1, n);
    if (n % 5 == 0) expect_fast_is_plain(random_, between(random_, 1, 40), n, 1);
  }
}

TEST_P(FastMatmul, EqualsPlainForATile) { expect_fast_is_plain(random_, 128, 128, 512); }

// Else whoever asks has to read the result again.
TEST_P(FastMatmul, TellsOfWhatMagnitudeFullTilesAre) {
  for (const std::size_t n : {1, 16, 250, 512}) {
    const Matrix a(random_, 128, 128, Values::ordinary), b(random_, 128, n, Values::ordinary);
    Matrix out(random_, 128, n, Values::ordinary);
    const std::uint32_t told =
        fast::matmul({DType::float32, a.data.data(), stride_of(a)}, {DType::float32, b.data.data(), stride_of(b)},
                     out.data.data(), stride_of(out), 128, 128, n, true, {});
    expect_told(told, out, true);
  }
}

// Operands that end in columns of zeros, of both signs; special values of the other operand make them count.
TEST_P(FastMatmul, EqualsPlainForColumnsOfZeros) {
  const auto clear_from = [&](Matrix& matrix, std::size_t begin) {
    for (std::size_t i = 0; i < matrix.data.size(); ++i) {
      if (i % matrix.stride >= begin) matrix.data[i] = between(random_, 0, 1) ? 0.0f : -0.0f;
    }
  };
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
    const std::size_t k = between(random_, 1, 130), m = between(random_, 1, 130), n = between(random_, 1, 530);
    Matrix left(random_, k, m, static_cast<Values>(between(random_, 0, 2)));
    Matrix right(random_, k, n, static_cast<Values>(between(random_, 0, 2)));
    if (between(random_, 0, 3)) clear_from(left, between(random_, 0, m));
    if (between(random_, 0, 3)) clear_from(right, between(random_, 0, n));
    expect_fast_is_plain(random_, std::move(left), std::move(right));
  }
}

// An array with elements of a kind at random places, and these places, some of them twice and some of zeros.
FewPlaces random_places(Random& random, std::vector<float>& array, std::size_t rows, std::size_t columns,
                        Values values) {
  for (float& x : array) x = between(random, 0, 1) ? 0.0f : -0.0f;
  std::vector<std::int64_t> places;
  for (std::size_t i = rows * columns / between(random, 3, 50); i > 0; --i) {
    places.push_back(static_cast<std::int64_t>(between(random, 0, array.size() - 1)));
    array[places.back()] = between(random, 0, 9) ? random_value(random, values) : 0.0f;
    if (values == Values::tiny) array[places.back()] *= 0x1p-30f;
    if (between(random, 0, 9) == 0) places.push_back(places.back());
  }
  return {array.data(), rows, columns, std::move(places)};
}

// Parts of such an array, and others, while its places are known.
TEST_P(FastMatmul, EqualsPlainForKnownPlaces) {
  for (int i = 0; i < 120 && !HasFatalFailure(); ++i) {
    const std::size_t rows = between(random_, 1, 130), columns = between(random_, 1, 400);
    const auto values = static_cast<Values>(between(random_, 0, 2));
    std::vector<float> array(rows * columns);
    FewPlaces places = random_places(random_, array, rows, columns, values);
    places.times_finite = values != Values::special && between(random_, 0, 1);
    const FewPlaces::Scope known(&places);
    const std::size_t k = between(random_, 1, rows), m = between(random_, 1, columns), n = between(random_, 1, 140);
    const std::size_t first_row = between(random_, 0, 3) ? 0 : rows - k, first = between(random_, 0, columns - m);
    Matrix right(random_, k, n, values);
    if (values == Values::tiny) {
      for (float& x : right.data) x = between(random_, 0, 3) ? x * 0x1p-60f : 0.0f;
    }
    const Matrix out(random_, m, n, Values::special);
    const Factor a{DType::float32, array.data() + first_row * columns + first, static_cast<std::ptrdiff_t>(columns)};
    const Factor b{DType::float32, right.data.data(), stride_of(right)};
    Matrix want = out, got = out;
    const bool accumulate = between(random_, 0, 1) == 1;
    plain::matmul(a, b, want.data.data(), stride_of(want), k, m, n, accumulate, {});
    expect_told(fast::matmul(a, b, got.data.data(), stride_of(got), k, m, n, accumulate, {}), got, false);
    expect_same(want, got);
  }
}

// What lies elsewhere is not looked at, in the scope alone.
TEST_P(FastMatmul, LooksAtKnownPlacesAlone) {
  constexpr std::size_t kSize = 64;
  std::vector<float> array(kSize * kSize, 0.0f), ones(kSize * kSize, 1.0f), got(kSize * kSize);
  array[0] = 2.0f, array[1] = 3.0f;
  const FewPlaces places(array.data(), kSize, kSize, {0});
  const Factor a{DType::float32, array.data(), kSize}, b{DType::float32, ones.data(), kSize};
  {
    const FewPlaces::Scope known(&places);
    fast::matmul(a, b, got.data(), kSize, kSize, kSize, kSize, false, {});
  }
  EXPECT_EQ(got[0], 2.0f);
  EXPECT_EQ(got[kSize], 0.0f);
  fast::matmul(a, b, got.data(), kSize, kSize, kSize, kSize, false, {});
  EXPECT_EQ(got[kSize], 3.0f);
}

// Columns of which many are others again, or these with the other sign, in blocks beside zeros of both signs.
std::vector<float> random_table(Random& random, std::size_t rows, std::size_t columns, Values values) {
  std::vector<float> table(rows * columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t begin = c / 40 * 30 % rows, end = std::min(rows, begin + 50);
    const bool again = c > 0 && between(random, 0, 3) > 0, negated = between(random, 0, 1) == 1;
    const std::size_t other = again ? c - between(random, 1, std::min<std::size_t>(c, 45)) : c;
    for (std::size_t r = 0; r < rows; ++r) {
      const float zero = between(random, 0, 1) ? 0.0f : -0.0f;
      const float fresh = r < begin || r >= end || between(random, 0, 20) == 0 ? zero : random_value(random, values);
      const float x = again ? table[r * columns + other] : fresh;
      table[r * columns + c] = x == 0 ? zero : again && negated ? -x : x;
    }
  }
  return table;
}

// Parts of a table that is known, as either operand. Products of two tiny values are too small for float32, and sums of
// them are zeros of both signs.
TEST_P(FastMatmul, EqualsPlainForKnownTables) {
  for (int i = 0; i < 150 && !HasFatalFailure(); ++i) {
    const std::size_t rows = between(random_, 1, 130), columns = between(random_, 1, 400);
    const auto values = static_cast<Values>(between(random_, 0, 2));
    const std::vector<float> array = random_table(random_, rows, columns, values);
    const KnownTable known(array.data(), rows, columns);
    const std::size_t k = between(random_, 1, rows), size = between(random_, 1, columns), n = between(random_, 1, 140);
    const std::size_t first_row = between(random_, 0, 3) ? 0 : rows - k, first = between(random_, 0, columns - size);
    Matrix data(random_, k, n, values);
    if (values == Values::tiny) {
      for (float& x : data.data) x = between(random_, 0, 3) ? x * 0x1p-60f : 0.0f;
    }
    const Rounded other(random_, std::move(data));
    const Factor part{DType::float32, array.data() + first_row * columns + first, static_cast<std::ptrdiff_t>(columns)};
    const bool is_left = between(random_, 0, 1) == 1, accumulate = between(random_, 0, 1) == 1;
    const Factor a = is_left ? part : other.factor(), b = is_left ? other.factor() : part;
    const std::size_t m = is_left ? size : n, width = is_left ? n : size;
    const Matrix out(random_, m, width, static_cast<Values>(between(random_, 0, 2)));
    Matrix want = out, got = out;
    plain::matmul(a, b, want.data.data(), stride_of(want), k, m, width, accumulate, {});
    expect_told(fast::matmul(a, b, got.data.data(), stride_of(got), k, m, width, accumulate, {}), got, false);
    expect_same(want, got);
  }
}

TEST(KnownTable, FindsWhereColumnsHaveNumbersAndWhichAreAlike) {
  const float array[] = {0, 1,  2, -1, 0, 0,   //
                         3, -0, 2, 0,  4, -2,  //
                         0, 5,  0, -5, 0, -2};
  const KnownTable known(array, 3, 6);
  const auto& columns = known.of_columns;
  EXPECT_EQ(columns[1].twin, 2);
  EXPECT_EQ(columns[3].twin, -2);
  EXPECT_TRUE(columns[1].negated && columns[3].negated);
  for (const std::size_t alone : {0, 2, 4, 5}) EXPECT_EQ(columns[alone].twin, 0) << alone;
  EXPECT_EQ(columns[5].begin, 1u);
  EXPECT_EQ(columns[2].end, 2u);
}

TEST(KnownTable, IsKnownWhileItLives) {
  const std::vector<float> array(12, 1.0f);
  {
    const KnownTable known(array.data(), 3, 4);
    EXPECT_EQ(KnownTable::at(array.data()), &known);
    EXPECT_EQ(KnownTable::at(array.data() + 11), &known);
    EXPECT_NE(KnownTable::at(array.data() + 12), &known);
    EXPECT_NE(KnownTable::at(array.data() - 1), &known);
  }
  EXPECT_EQ(KnownTable::at(array.data()), nullptr);
}

// Nearly all elements of the first operand are zeros, of both signs. Products of two values of 2^-80 are too small for
// float32, so sums become -0, which the zeros that follow turn to +0.
TEST_P(FastMatmul, EqualsPlainForFewElements) {
  for (int i = 0; i < 120 && !HasFatalFailure(); ++i) {
    const std::size_t k = between(random_, 1, 130), m = between(random_, 2, 130), n = between(random_, 2, 530);
    const auto values = static_cast<Values>(between(random_, 0, 2));
    Matrix left(random_, k, m, values), right(random_, k, n, between(random_, 0, 1) ? values : Values::ordinary);
    for (float& x : left.data) {
      if (between(random_, 0, 39) > 0) x = between(random_, 0, 1) ? 0.0f : -0.0f;
    }
    if (values == Values::tiny) {
      for (float& x : left.data) x *= 0x1p-30f;
      for (float& x : right.data) x = between(random_, 0, 3) ? x * 0x1p-60f : 0.0f;
    }
    const Rounded a(random_, std::move(left)), b(random_, std::move(right));
    const Matrix out(random_, m, n, values);
    for (const bool accumulate : {false, true}) {
      const Matrix want = matmul(plain::matmul, a.values, b.values, out, accumulate);
      Matrix got = out;
      const std::uint32_t told =
          fast::matmul(a.factor(), b.factor(), got.data.data(), stride_of(got), k, m, n, accumulate, {});
      expect_told(told, got, false);
      SCOPED_TRACE(testing::Message() << "k " << k << " m " << m << " n " << n << " values "
                                      << static_cast<int>(values));
      expect_same(want, got);
    }
  }
}

// Blocks side by side, with zeros of both signs around them, in either operand or in both: zeros count where the other
// operand is not finite, and where products are too small for float32, which makes sums of -0.
TEST_P(FastMatmul, EqualsPlainForBlocksSideBySide) {
  const auto clear_outside = [&](Matrix& matrix, std::size_t rows, std::size_t columns) {
    const std::size_t shift = between(random_, 0, 3) ? 0 : between(random_, 0, rows);
    for (std::size_t i = 0; i < matrix.data.size(); ++i) {
      if ((i / matrix.stride + shift) / rows != i % matrix.stride / columns)
        matrix.data[i] = between(random_, 0, 1) ? 0.0f : -0.0f;
    }
  };
  for (int i = 0; i < 150 && !HasFatalFailure(); ++i) {
    const std::size_t k = between(random_, 2, 140), m = between(random_, 2, 140), n = between(random_, 2, 530);
    const std::size_t rows = between(random_, 1, k), blocks = (k + rows - 1) / rows;
    const auto values = static_cast<Values>(between(random_, 0, 2));
    Matrix left(random_, k, m, values), right(random_, k, n, between(random_, 0, 1) ? values : Values::ordinary);
    const std::size_t which = between(random_, 1, 3);
    if (which & 1) clear_outside(left, rows, std::max<std::size_t>(1, m / blocks + between(random_, 0, 2)));
    if (which & 2) clear_outside(right, rows, std::max<std::size_t>(1, n / blocks + between(random_, 0, 2)));
    if (values == Values::tiny && between(random_, 0, 1)) {
      for (float& x : left.data) x *= 0x1p-30f;
      for (float& x : right.data) x *= between(random_, 0, 7) ? 1.0f : 0x1p-40f;
    }
    expect_fast_is_plain(random_, std::move(left), std::move(right));
  }
}

// Also where all zeros are left out, and what was there before is the result.
TEST_P(FastMatmul, TellsOfWhatMagnitudeBlocksSideBySideAre) {
  constexpr std::size_t kSize = 96, kBlock = 48;
  for (const std::size_t n : {kSize, kSize + 3}) {
    Matrix a(random_, kSize, kSize, Values::ordinary), b(random_, kSize, n, Values::ordinary);
    for (std::size_t row = 0; row < kSize; ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        if (row / kBlock == column / kBlock) continue;
        if (column < kSize) a.data[row * a.stride + column] = 0.0f;
        b.data[row * b.stride + column] = 0.0f;
      }
    }
    for (const std::size_t largest_row : {std::size_t{5}, kSize - 5}) {
      Matrix want(random_, kSize, n, Values::ordinary);
      want.data[largest_row * want.stride + kSize - 1 - largest_row] = -1e30f;
      Matrix got = want;
      const Factor left{DType::float32, a.data.data(), stride_of(a)},
          right{DType::float32, b.data.data(), stride_of(b)};
      plain::matmul(left, right, want.data.data(), stride_of(want), kSize, kSize, n, true, {});
      expect_told(fast::matmul(left, right, got.data.data(), stride_of(got), kSize, kSize, n, true, {}), got, true);
      expect_same(want, got);
    }
  }
}

// Sums of the first block are -0, where products are rounded to nothing or nearly cancel each other, and stay so in its
// last rows; with the zeros of the second block they are +0.
TEST_P(FastMatmul, ZerosThatFollowMakeSumsPositive) {
  constexpr std::size_t kSize = 64, kBlock = 32;
  struct Pair {
    float a, b;
  };
  for (const auto& [first, second] : {std::pair{Pair{-0x1p-90f, 0x1p-70f}, Pair{-0x1p-80f, 0x1p-80f}},
                                      std::pair{Pair{-0x1p-60f, 0x1p-66f}, Pair{0x1.000002p-60f, 0x1.fffffcp-67f}}}) {
    Matrix a(kSize, kSize, std::vector<float>(kSize * kSize)), b(kSize, kSize, std::vector<float>(kSize * kSize));
    for (std::size_t row = 0; row < kSize; ++row) {
      for (std::size_t column = 0; column < kSize; ++column) {
        const bool is_block = row / kBlock == column / kBlock;
        a.data[row * kSize + column] = !is_block ? 0.0f : row == 0 ? first.a : row == 1 ? second.a : 1.0f;
        b.data[row * kSize + column] = row == 0 ? first.b : row == 1 ? second.b : row < kBlock ? -0.0f : 1.0f;
      }
    }
    const Matrix out(kSize, kSize, std::vector<float>(kSize * kSize));
    const Matrix want = matmul(plain::matmul, a, b, out, false);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(want.at(0, 0)), 0u);
    expect_same(want, matmul(fast::matmul, a, b, out, false));
  }
}

TEST(PlainMatmul, IsTheProductUpToRounding) {
  Random random = make_random();
  const std::size_t k = 128, m = 37, n = 53;
  const Matrix a(random, k, m, Values::ordinary);
  const Matrix b(random, k, n, Values::ordinary);
  const Matrix out = matmul(plain::matmul, a, b, Matrix(random, m, n, Values::ordinary), false);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < k; ++i) {
        const double product = static_cast<double>(a.at(i, row)) * b.at(i, column);
        sum += product;
        magnitude += std::abs(product);
      }
      // Each of the k roundings is off by at most half a unit of a partial sum.
      ASSERT_NEAR(out.at(row, column), sum, k * 0x1p-24 * magnitude);
    }
  }
}

TEST(PlainMatmul, IsExactForSmallIntegers) {
  Random random = make_random();
  const std::size_t k = 128, m = 19, n = 45;
  Matrix a(random, k, m, Values::ordinary);
  Matrix b(random, k, n, Values::ordinary);
  Matrix before(random, m, n, Values::ordinary);
  for (Matrix* matrix : {&a, &b, &before}) {
    for (float& value : matrix->data) value = static_cast<float>(between(random, 0, 200)) - 100.0f;
  }
  const Matrix replaced = matmul(plain::matmul, a, b, before, false);
  const Matrix added = matmul(plain::matmul, a, b, before, true);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      int sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += static_cast<int>(a.at(i, row)) * static_cast<int>(b.at(i, column));
      ASSERT_EQ(replaced.at(row, column), static_cast<float>(sum));
      ASSERT_EQ(added.at(row, column), static_cast<float>(sum + static_cast<int>(before.at(row, column))));
    }
  }
}

// One output, with the products of `a` and `b` and what was there before.
float one_output(std::vector<float> a, std::vector<float> b, float before, bool accumulate) {
  const std::size_t k = a.size();
  return matmul(plain::matmul, {k, 1, std::move(a)}, {k, 1, std::move(b)}, {1, 1, {before}}, accumulate).at(0, 0);
}

TEST(PlainMatmul, RoundsOncePerStepInOrder) {
  // Unfused, the product would lose its last bit: (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24.
  EXPECT_EQ(one_output({-1, 0x1.001p0f}, {1, 0x1.001p0f}, 0, false), 0x1p-11f + 0x1p-24f);
  // 2^24 + 1 rounds to 2^24, so the order decides.
  EXPECT_EQ(one_output({0x1p24f, 1, -0x1p24f}, {1, 1, 1}, 0, false), 0.0f);
  EXPECT_EQ(one_output({0x1p24f, -0x1p24f, 1}, {1, 1, 1}, 0, false), 1.0f);
  // The finished sum is added once: 2^24 + (1 + 1), not (2^24 + 1) + 1.
  EXPECT_EQ(one_output({1, 1}, {1, 1}, 0x1p24f, true), 0x1p24f + 2);
  // The sum starts at +0, so the only product -0 leaves +0.
  EXPECT_FALSE(std::signbit(one_output({-0.0f}, {1}, -0.0f, false)));
  EXPECT_FALSE(std::signbit(one_output({-0.0f}, {1}, -0.0f, true)));
}

}  // namespace
}  // namespace kiln
