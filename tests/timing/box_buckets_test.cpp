// Buckets find the boxes that comparing with every box finds, whatever the boxes are.
#include "kiln/timing/box_buckets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/seed.h"

namespace kiln::timing {
namespace {

class RandomBoxes : public testing::Test {
 protected:
  std::uint64_t seed = test::seed();
  std::mt19937_64 random{seed};
  std::int64_t pick(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  }
  // One of a tensor of `size` in each of its dimensions: small, wide, or with gaps.
  Box box(int rank, std::int64_t size) {
    Box b;
    b.rank = rank;
    for (int d = 0; d < rank; ++d) {
      b.lo[d] = pick(0, size - 1);
      b.hi[d] = pick(0, 9) == 0 ? size : std::min(size, b.lo[d] + pick(1, 4));
    }
    if (pick(0, 3) == 0) b.width = pick(1, 3), b.step = b.width + pick(1, 4);
    return b;
  }
};

TEST_F(RandomBoxes, AreFoundAsByComparingWithAll) {
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(fmt::format("KILN_SEED={} round {}", seed, round));
    const int rank = static_cast<int>(pick(1, analysis::kBoxRank));
    BoxBuckets buckets;
    std::vector<Box> boxes;
    std::int64_t size = pick(1, 50);
    for (std::uint32_t i = 0; i < 400; ++i) {
      if (pick(0, 99) == 0) size *= 2;  // later boxes lie where none was before
      if (pick(0, 299) == 0) buckets.clear();
      const Box next = box(rank, size);
      std::vector<std::uint32_t> expected;
      for (std::uint32_t k = 0; k < i; ++k) {
        if (boxes[k].overlaps(next)) expected.push_back(k);
      }
      // Not asked every time: boxes come into buckets several at once.
      if (pick(0, 2) > 0) {
        ASSERT_EQ(buckets.overlapping(next, i, [&](std::uint32_t k) -> const Box& { return boxes[k]; }), expected);
      }
      boxes.push_back(next);
    }
  }
}

}  // namespace
}  // namespace kiln::timing
