// Boxes move what a walk over their elements, one by one, moves; parts of rows fall apart into boxes.
#include "kiln/isa/semantics/box.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tests/seed.h"

namespace kiln::isa {
namespace {

using Random = std::mt19937_64;

std::int64_t one_of(Random& random, std::initializer_list<std::int64_t> values) {
  return values.begin()[random() % values.size()];
}

// Steps of dimensions that lie without gaps in a random order, or with some; no two elements lie in one place.
std::vector<std::int64_t> random_steps(Random& random, const std::vector<std::int64_t>& counts, bool may_repeat) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int64_t> steps(counts.size());
  std::int64_t step = one_of(random, {1, 1, 1, 2, 3});
  for (const std::size_t d : order) {
    steps[d] = may_repeat && random() % 4 == 0 ? 0 : step;
    if (steps[d]) step = step * counts[d] + one_of(random, {0, 0, 1, 5});
  }
  return steps;
}

std::int64_t reach(const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& steps) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) last += steps[d] * (counts[d] - 1);
  return last + 1;
}

// Calls fn(place here, place there) for every element in row-major order.
template <class Fn>
void for_each(const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& here,
              const std::vector<std::int64_t>& there, Fn&& fn) {
  const std::int64_t n = std::accumulate(counts.begin(), counts.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t left = i, x = 0, y = 0;
    for (std::size_t d = counts.size(); d-- > 0; left /= counts[d])
      x += left % counts[d] * here[d], y += left % counts[d] * there[d];
    fn(x, y);
  }
}

TEST(Box, MovesEveryElement) {
  Random random(test::seed());
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t size = one_of(random, {1, 2, 4});
    std::vector<std::int64_t> counts(1 + random() % 4);
    for (std::int64_t& count : counts) count = one_of(random, {1, 2, 3, 4, 8, 16, 19});
    const auto here = random_steps(random, counts, true), there = random_steps(random, counts, false);
    std::vector<std::byte> from(reach(counts, here) * size), to(reach(counts, there) * size, std::byte{7}), wanted = to;
    for (std::byte& b : from) b = static_cast<std::byte>(random());
    for_each(counts, here, there, [&](std::int64_t x, std::int64_t y) {
      std::memcpy(wanted.data() + y * size, from.data() + x * size, size);
    });
    Box box;
    for (std::size_t d = 0; d < counts.size(); ++d) box.add({counts[d], here[d], there[d]});
    box.move(random() % 2 ? fast_kernels() : plain_kernels(), static_cast<int>(size), from.data(), to.data());
    ASSERT_EQ(to, wanted) << "round " << round;
  }
}

Tile tile_of(const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& steps, std::byte* data) {
  Tile t{};
  t.data = data;
  t.dtype = DType::uint16;
  t.rows = counts[0];
  t.row_bytes = steps[0] * 2;
  t.free_size = 1;
  for (std::size_t d = 1; d < counts.size(); ++d) {
    t.free[t.free_rank++] = {steps[d], counts[d]};
    t.free_size *= counts[d];
  }
  return t;
}

// The free dimensions of both have the same elements; they need not have the same sizes.
TEST(Box, LiesBetweenTilesOfOneSize) {
  Random random(test::seed() + 1);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::int64_t> counts = {one_of(random, {1, 3, 8}), one_of(random, {2, 4, 6}),
                                              one_of(random, {3, 4, 8})};
    const std::vector<std::int64_t> one = {counts[0], counts[1] * counts[2]};
    const auto steps = random_steps(random, counts, true), plain = random_steps(random, one, false);
    std::vector<std::byte> from(reach(counts, steps) * 2), to(reach(one, plain) * 2, std::byte{7}), wanted = to;
    for (std::byte& b : from) b = static_cast<std::byte>(random());
    std::vector<std::int64_t> sources;
    for_each(counts, steps, steps, [&](std::int64_t x, std::int64_t) { sources.push_back(x); });
    std::size_t next = 0;
    for_each(one, plain, plain, [&](std::int64_t, std::int64_t y) {
      std::memcpy(wanted.data() + y * 2, from.data() + sources[next++] * 2, 2);
    });
    std::optional<Box> box = box_between(tile_of(one, plain, to.data()), tile_of(counts, steps, from.data()));
    if (!box) continue;
    ++found;
    box->move(fast_kernels(), 2, from.data(), to.data());
    ASSERT_EQ(to, wanted) << "round " << round;
  }
  EXPECT_GT(found, 1000);
}

TEST(Box, PartsOfRowsAreBoxes) {
  Random random(test::seed() + 2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int64_t> counts(1 + random() % 4);
    std::int64_t all = 1;
    for (std::int64_t& count : counts) all *= count = one_of(random, {1, 2, 3, 7});
    const auto steps = random_steps(random, counts, true);
    std::vector<Dim> dims;
    for (std::size_t d = 0; d < counts.size(); ++d) dims.push_back({steps[d], counts[d]});
    std::vector<std::int64_t> places, got;
    for_each(counts, steps, steps, [&](std::int64_t x, std::int64_t) { places.push_back(x); });
    const auto first = static_cast<std::int64_t>(random() % all),
               n = static_cast<std::int64_t>(random() % (all - first));
    for_boxes(dims.data(), static_cast<int>(dims.size()), first, n,
              [&](std::int64_t offset, std::int64_t position, const Dim* box, int rank) {
                ASSERT_EQ(position, static_cast<std::int64_t>(got.size()));
                std::vector<std::int64_t> sizes, in_box;
                for (int d = 0; d < rank; ++d) sizes.push_back(box[d].count), in_box.push_back(box[d].stride);
                for_each(sizes, in_box, in_box, [&](std::int64_t x, std::int64_t) { got.push_back(offset + x); });
              });
    ASSERT_EQ(got, std::vector(places.begin() + first, places.begin() + first + n)) << "round " << round;
  }
}

}  // namespace
}  // namespace kiln::isa
