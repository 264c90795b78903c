// Sweeping gives every item the address that trying all addresses from the lowest on gives it.
#include "kiln/analysis/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>

#include "kiln/analysis/allocate.h"
#include "kiln/analysis/free_runs.h"
#include "tests/seed.h"

namespace kiln::analysis {
namespace {

class Random {
 public:
  std::int64_t below(std::int64_t limit) { return static_cast<std::int64_t>(engine_() % limit); }

 private:
  std::mt19937_64 engine_{test::seed()};
};

std::vector<Item> random_items(Random& random, int count, std::int64_t most_bytes) {
  std::vector<Item> items(count);
  for (Item& item : items) {
    item.live.begin = static_cast<Position>(random.below(2 * count));
    item.live.end = item.live.begin + static_cast<Position>(random.below(random.below(4) ? 10 : 2 * count));
    item.bytes = 1 + random.below(most_bytes);
    item.mask = quadrants_of(0, 1 + random.below(128));
    item.quadrants = static_cast<std::uint8_t>(__builtin_popcount(item.mask));
  }
  return items;
}

bool collide(const Item& a, const Item& b) {
  return a.live.overlaps(b.live) && (a.mask & b.mask) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// The lowest address of an item, the first quadrant among equals.
bool place_by_trying(std::vector<Item>& items, const std::vector<std::uint32_t>& placed, Item& item,
                     const Layout& layout) {
  const int width = item.quadrants;
  for (item.offset = 0; item.offset + item.bytes <= layout.available_bytes; item.offset += layout.align) {
    for (int first = 0; first < layout.quadrants; first += start_step(layout, width)) {
      item.partition = first * 32;
      item.mask = static_cast<QuadrantMask>(((1 << width) - 1) << first);
      if (std::ranges::none_of(placed, [&](std::uint32_t j) { return collide(items[j], item); })) return true;
    }
  }
  return false;
}

TEST(Sweep, FindsTheLowestFreeAddresses) {
  Random random;
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const Layout layout{200 + random.below(3000), random.below(2) ? 32 : 4, 4, 0, 4};
    std::vector<Item> swept = random_items(random, 1 + static_cast<int>(random.below(60)), 300);
    std::vector<Item> tried = swept;
    std::vector<std::uint32_t> order(swept.size()), placed;
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return swept[i].live.begin; });
    std::uint32_t failed = isa::kNone;
    for (const std::uint32_t i : order) {
      if (!place_by_trying(tried, placed, tried[i], layout)) {
        failed = i;
        break;
      }
      placed.push_back(i);
    }
    const Swept result = sweep(swept, layout, order);
    ASSERT_EQ(result.failed, failed);
    EXPECT_FALSE(result.hopeless && failed == isa::kNone);
    for (const std::uint32_t i : placed) {
      ASSERT_EQ(swept[i].address(), tried[i].address()) << i;
      ASSERT_EQ(swept[i].mask, tried[i].mask) << i;
    }
  }
}

TEST(FreeRuns, AreThoseOfARowOfCounts) {
  Random random;
  for (int round = 0; round < 50; ++round) {
    const bool many = round % 2 == 1;  // so many that they are kept as a tree
    const auto places = static_cast<std::int32_t>(1 + random.below(many ? 1000 : 40));
    FreeRuns runs(places);
    std::vector<int> taken(places);
    std::vector<std::pair<std::int32_t, std::int32_t>> held;
    for (int step = 0; step < (many ? 600 : 60); ++step) {
      const bool gives = !held.empty() && random.below(many ? 4 : 2) == 0;
      const auto begin = static_cast<std::int32_t>(random.below(places));
      const std::int64_t most = many ? std::min(places - begin, 6) : places - begin;
      if (!gives) held.emplace_back(begin, begin + static_cast<std::int32_t>(random.below(most + 1)));
      if (gives) std::swap(held[random.below(std::ssize(held))], held.back());
      const auto [first, end] = held.back();
      runs.take(first, end, gives ? -1 : 1);
      for (std::int32_t i = first; i < end; ++i) taken[i] += gives ? -1 : 1;
      if (gives) held.pop_back();
      const auto count = static_cast<std::int32_t>(1 + random.below(places));
      std::int32_t wanted = -1;
      for (std::int32_t at = 0; at + count <= places && wanted < 0; ++at) {
        if (std::all_of(taken.begin() + at, taken.begin() + at + count, [](int t) { return t == 0; })) wanted = at;
      }
      ASSERT_EQ(runs.find(count), wanted);
    }
  }
}

}  // namespace
}  // namespace kiln::analysis
