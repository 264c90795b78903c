// A ShortVector holds what a std::vector holds, on both sides of the length up to which it needs no memory.
#include "kiln/base/short_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/seed.h"

namespace kiln {
namespace {

using Few = ShortVector<int, 3>;

std::vector<int> all_of(const Few& v) { return {v.begin(), v.end()}; }

TEST(ShortVector, HoldsWhatAVectorHolds) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 200; ++round) {
    Few few;
    std::vector<int> plain;
    for (int i = 0; i < 30; ++i) {
      const int what = static_cast<int>(random() % 8);
      if (what < 5) few.push_back(i), plain.push_back(i);
      if (what == 5 && !plain.empty()) few.pop_back(), plain.pop_back();
      if (what == 6) few.resize_down(plain.size() / 2), plain.resize(plain.size() / 2);
      if (what == 7 && random() % 4 == 0) few.clear(), plain.clear();
      ASSERT_EQ(all_of(few), plain) << "KILN_SEED=" << test::seed();
      ASSERT_EQ(few.size(), plain.size());
      ASSERT_EQ(few.empty(), plain.empty());
    }
  }
}

TEST(ShortVector, IsCopiedAndMoved) {
  for (const int size : {0, 2, 3, 4, 9}) {
    std::vector<int> plain;
    Few few;
    for (int i = 0; i < size; ++i) few.push_back(i), plain.push_back(i);
    Few copy(few), assigned;
    assigned.push_back(7);
    assigned = few;
    EXPECT_EQ(all_of(copy), plain);
    EXPECT_EQ(all_of(assigned), plain);
    Few moved(std::move(copy));
    assigned.push_back(8);
    assigned = std::move(moved);
    EXPECT_EQ(all_of(assigned), plain);
    assigned.push_back(size);
    plain.push_back(size);
    EXPECT_EQ(all_of(assigned), plain);
    EXPECT_EQ(assigned.back(), size);
    EXPECT_EQ(few.size(), plain.size() - 1);  // the first one is as it was
  }
}

}  // namespace
}  // namespace kiln
