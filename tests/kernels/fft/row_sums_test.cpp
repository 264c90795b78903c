// Sums over rows are those of sixteen floats side by side, with any vectors of the processor.
#include "kernels/fft/host/row_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/num/each_target.h"
#include "tests/seed.h"

namespace kiln::fft {
namespace {

RowSums one_by_one(const std::vector<float>& numbers, std::size_t parts) {
  constexpr std::size_t kSums = 16, kPiece = 256;
  RowSums all;
  const std::size_t count = numbers.size() / parts;
  for (std::size_t first = 0; first < count; first += kPiece) {
    const std::size_t some = std::min(kPiece, count - first);
    float sums[kSums] = {}, fourths[kSums] = {};
    for (std::size_t i = 0; i < some; ++i) {
      const float* v = numbers.data() + (first + i) * parts;
      float square = v[0] * v[0];
      if (parts == 2) square += v[1] * v[1];
      const std::size_t lane = i < some / kSums * kSums ? i % kSums : 0;
      sums[lane] += square;
      fourths[lane] += square * square;
      if (square > all.largest) all.largest = square;
    }
    double sum = 0, fourth = 0;
    for (std::size_t lane = 0; lane < kSums; ++lane) sum += sums[lane], fourth += fourths[lane];
    all.squares += sum;
    all.fourths += fourth;
  }
  return all;
}

TEST(RowSums, AreTheSameBitsWithAnyVectors) {
  std::mt19937 random(test::seed());
  std::normal_distribution<float> normal;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    test::limit_to(target);
    for (const std::size_t count : {1, 3, 15, 16, 17, 255, 256, 257, 700, 1024}) {
      for (const std::size_t parts : {1u, 2u}) {
        std::vector<float> numbers(count * parts);
        for (float& v : numbers) v = std::ldexp(normal(random), static_cast<int>(random() % 9) - 4);
        const RowSums found = row_sums(numbers.data(), static_cast<std::int64_t>(count), parts);
        const RowSums wanted = one_by_one(numbers, parts);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(found.squares), std::bit_cast<std::uint64_t>(wanted.squares)) << count;
        EXPECT_EQ(std::bit_cast<std::uint64_t>(found.fourths), std::bit_cast<std::uint64_t>(wanted.fourths)) << count;
        EXPECT_EQ(found.largest, wanted.largest) << count;
      }
    }
  }
  test::limit_to(0);
}

TEST(RowSums, WhatIsNotANumberIsNotTheLargest) {
  std::vector<float> numbers(300, 1.0f);
  numbers[7] = std::numeric_limits<float>::quiet_NaN();
  numbers[290] = 3.0f;
  const RowSums sums = row_sums(numbers.data(), 300, 1);
  EXPECT_TRUE(std::isnan(sums.squares));
  EXPECT_EQ(sums.largest, 9.0f);
}

}  // namespace
}  // namespace kiln::fft
