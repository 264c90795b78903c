// ByteMap against a plain array of bytes.
#include "kiln/sim/byte_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/num/random_rows.h"

namespace kiln::sim {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Calls fn(SpacedRanges) for all of them together, or one by one where they lie over each other.
template <class Fn>
void for_ranges(std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count, Fn&& fn) {
  SpacedRanges ranges{begin, bytes};
  if (count > 0 && ranges.repeat(step, count)) return fn(ranges);
  for (std::int64_t i = 0; i < count; ++i) fn(SpacedRanges{begin + i * step, bytes});
}

// Calls fn(byte) for all bytes.
template <class Fn>
void for_bytes(const SpacedRanges& ranges, Fn&& fn) {
  ranges.for_groups([&](std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count) {
    for (std::int64_t i = 0; i < count * bytes; ++i) fn(begin + i / bytes * step + i % bytes);
  });
}

// Up to three steps, within `size` bytes.
SpacedRanges random_ranges(test::RandomRows& random, std::int64_t size) {
  const auto below = [&](std::int64_t n) -> std::int64_t { return random.below(static_cast<std::uint32_t>(n)); };
  SpacedRanges ranges{0, 1 + below(std::min<std::int64_t>(size, 8))};
  for (std::int64_t i = below(4); i > 0; --i) {
    const std::int64_t step = below(2) ? std::bit_ceil<std::uint64_t>(ranges.span(0)) : ranges.span(0) + below(9);
    if (step > 0 && step < size) ranges.repeat(step, std::min(1 + below(5), (size - ranges.span(0)) / step + 1));
  }
  ranges.begin = below(2) ? below(size - ranges.span(0) + 1) : below((size - ranges.span(0)) / 8 + 1) * 8;
  ranges.begin = std::min(ranges.begin, size - ranges.span(0));
  return ranges;
}

class Pair {
 public:
  explicit Pair(std::int64_t size, std::uint8_t value = 0) : map_(size, value), bytes_(size, value) {}
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  void fill(std::int64_t begin, std::int64_t end, std::uint8_t value) {
    map_.fill(begin, end, value);
    if (begin < end) std::fill(bytes_.begin() + begin, bytes_.begin() + end, value);
  }

  void expect_ranges() { map_.expect_ranges(); }

  void fill_spaced(std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count, std::uint8_t value) {
    for_ranges(begin, bytes, step, count, [&](const SpacedRanges& ranges) { map_.fill(ranges, value); });
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(bytes_.begin() + begin + i * step, bytes, value);
  }

  void fill(const SpacedRanges& ranges, std::uint8_t value) {
    map_.fill(ranges, value);
    for_bytes(ranges, [&](std::int64_t byte) { bytes_[byte] = value; });
  }

  void expect_range(std::int64_t begin, std::int64_t end) const {
    const auto first = bytes_.begin() + begin, last = bytes_.begin() + std::max(begin, end);
    for (const std::uint8_t v : {0, 1, 2, 255})
      ASSERT_EQ(map_.all(begin, end, v), std::all_of(first, last, [&](auto b) { return b == v; }))
          << begin << " to " << end << ", value " << int{v};
    Bytes copy(last - first);
    if (begin < end) map_.copy(begin, end, copy.data());
    ASSERT_EQ(copy, Bytes(first, last)) << begin << " to " << end;
    const auto nonzero = std::find_if(first, last, [](auto b) { return b != 0; });
    ASSERT_EQ(map_.first_nonzero(begin, end), nonzero == last ? 0 : *nonzero) << begin << " to " << end;
  }

  void expect_spaced(std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count) const {
    for (const std::uint8_t v : {0, 1, 2, 255}) {
      bool all = true;
      for (std::int64_t i = 0; i < count; ++i)
        all = all && std::all_of(bytes_.begin() + begin + i * step, bytes_.begin() + begin + i * step + bytes,
                                 [&](auto b) { return b == v; });
      bool told = true;
      for_ranges(begin, bytes, step, count, [&](const SpacedRanges& ranges) { told = told && map_.all(ranges, v); });
      ASSERT_EQ(told, all) << count << " times " << bytes << " bytes from " << begin << " in steps of " << step
                           << ", value " << int{v};
    }
  }

  void expect(const SpacedRanges& ranges) const {
    for (const std::uint8_t v : {0, 1, 2, 255}) {
      bool all = true;
      for_bytes(ranges, [&](std::int64_t byte) { all = all && bytes_[byte] == v; });
      ASSERT_EQ(map_.all(ranges, v), all) << "value " << int{v};
    }
  }

  void expect_all() const {
    for (std::int64_t i = 0; i < size(); ++i) ASSERT_EQ(map_.at(i), bytes_[i]) << "byte " << i;
    ASSERT_EQ(map_.count_nonzero(), size() - std::count(bytes_.begin(), bytes_.end(), 0));
    const auto nonzero = std::find_if(bytes_.begin(), bytes_.end(), [](auto b) { return b != 0; });
    ASSERT_EQ(map_.find_nonzero(), nonzero - bytes_.begin());
    // What is_uniform claims is true; that all bytes are 0 is always noticed.
    for (const std::uint8_t v : {0, 1, 2, 255}) {
      const bool uniform = std::count(bytes_.begin(), bytes_.end(), v) == size();
      ASSERT_TRUE(uniform || !map_.is_uniform(v)) << int{v};
      ASSERT_TRUE(v != 0 || map_.is_uniform(0) == uniform);
    }
  }

 private:
  ByteMap map_;
  Bytes bytes_;
};

constexpr std::int64_t kPage = 4096;

TEST(ByteMap, StartsUniform) {
  for (const std::uint8_t v : {0, 7}) {
    const ByteMap map(3 * kPage, v);
    EXPECT_TRUE(map.is_uniform(v));
    EXPECT_FALSE(map.is_uniform(9));
    EXPECT_EQ(map.count_nonzero(), v ? 3 * kPage : 0);
  }
}

TEST(ByteMap, RandomFillsAndReads) {
  test::RandomRows random;
  for (const std::int64_t size :
       {std::int64_t{1}, std::int64_t{17}, kPage - 1, kPage, kPage + 1, 2 * kPage, 3 * kPage - 1, 5 * kPage + 13}) {
    Pair pair(size, static_cast<std::uint8_t>(random.below(3)));
    // Half of the ends lie within two bytes of a page border.
    const auto position = [&] {
      const std::int64_t anywhere = random.below(static_cast<std::uint32_t>(size + 1));
      const std::int64_t border = anywhere / kPage * kPage + random.below(5) - 2;
      return std::clamp<std::int64_t>(random.below(2) ? anywhere : border, 0, size);
    };
    for (int step = 0; step < 300; ++step) {
      const std::uint8_t values[] = {0, 0, 1, 2, 255};
      if (random.below(40) == 0) pair.expect_ranges();
      pair.fill(position(), position(), values[random.below(5)]);  // also empty and reversed ranges
      ASSERT_NO_FATAL_FAILURE(pair.expect_range(position(), position())) << "size " << size;
      if (step % 50 != 49) continue;
      ASSERT_NO_FATAL_FAILURE(pair.expect_all()) << "size " << size;
    }
  }
}

// Lines of 64 bytes are one unit of a page until a range that is no whole line meets it.
TEST(ByteMap, RandomLines) {
  test::RandomRows random;
  constexpr std::int64_t kLine = 64;
  for (const std::int64_t size : {kPage, 3 * kPage, 3 * kPage + 64, 2 * kPage + 100, 5 * kPage - 1}) {
    for (const std::uint32_t odd : {1000000u, 40u}) {  // never, or one of so many
      Pair pair(size, static_cast<std::uint8_t>(random.below(3)));
      const auto position = [&] {
        const std::int64_t anywhere = random.below(static_cast<std::uint32_t>(size + kLine));
        return std::min(size, random.below(odd) == 0 ? anywhere : anywhere / kLine * kLine);
      };
      for (int step = 0; step < 300; ++step) {
        const std::uint8_t values[] = {0, 0, 1, 2, 255};
        const std::int64_t begin = position();
        pair.fill(begin, random.below(2) ? position() : std::min(size, begin + kLine * 2), values[random.below(5)]);
        ASSERT_NO_FATAL_FAILURE(pair.expect_range(position(), position())) << "size " << size;
        const std::int64_t from = random.below(static_cast<std::uint32_t>(size));
        ASSERT_NO_FATAL_FAILURE(pair.expect_range(from, std::min(size, from + 5))) << "size " << size;
        if (step % 30 != 29) continue;
        ASSERT_NO_FATAL_FAILURE(pair.expect_all()) << "size " << size;
      }
    }
  }
}

TEST(ByteMap, PiecesThatClearEverythingMakeItUniformAgain) {
  ByteMap map(4 * kPage + 5, 3);
  for (std::int64_t i = 0; i < 4 * kPage + 5; i += 7) map.fill(i, std::min(i + 7, 4 * kPage + 5), 0);
  EXPECT_TRUE(map.is_uniform(0));
}

TEST(ByteMap, ResetChangesTheSize) {
  ByteMap map(10, 1);
  map.fill(2, 4, 0);
  map.reset(2 * kPage, 5);
  EXPECT_TRUE(map.is_uniform(5));
  EXPECT_EQ(map.at(2 * kPage - 1), 5);
  EXPECT_EQ(map.count_nonzero(), 2 * kPage);
}

TEST(ByteMap, RangesInSteps) {
  test::RandomRows random;
  for (const std::int64_t size : {kPage - 1, kPage, 3 * kPage + 5, 9 * kPage}) {
    Pair pair(size, static_cast<std::uint8_t>(random.below(3)));
    for (int i = 0; i < 60; ++i) {
      const std::int64_t bytes = std::int64_t{1} << random.below(4),
                         step = 1 + random.below(random.below(2) ? 24 : 5000);
      const std::int64_t begin = random.below(static_cast<std::uint32_t>(size - bytes));
      const std::int64_t most = (size - begin - bytes) / step + 1;
      const std::int64_t count = random.below(2) ? most : random.below(static_cast<std::uint32_t>(most + 1));
      pair.fill_spaced(begin, bytes, step, count, static_cast<std::uint8_t>(random.below(3)));
      ASSERT_NO_FATAL_FAILURE(pair.expect_spaced(begin, bytes, step, count));
      ASSERT_NO_FATAL_FAILURE(pair.expect_spaced(begin / 2, bytes, step, count));
      if (i % 10 == 0) pair.fill(0, size, static_cast<std::uint8_t>(random.below(3)));
      ASSERT_NO_FATAL_FAILURE(pair.expect_all()) << "size " << size << ", bytes " << bytes << ", step " << step;
    }
  }
}

// As tiles are written: rows of a matrix of bytes, in blocks of rows and columns, mostly with one value.
TEST(ByteMap, BlocksOfAMatrix) {
  test::RandomRows random;
  const auto below = [&](std::int64_t n) -> std::int64_t { return random.below(static_cast<std::uint32_t>(n)); };
  // What is asked about lies in what was written, beside it, or across.
  const auto expect_block = [&](const Pair& pair, std::int64_t rows, std::int64_t columns) {
    const std::int64_t first = below(rows), height = 1 + below(rows - first);
    const std::int64_t left = below(columns), width = below(columns - left + 1);
    ASSERT_NO_FATAL_FAILURE(pair.expect_spaced(first * columns + left, width, columns, height));
  };
  for (int round = 0; round < 40; ++round) {
    const std::int64_t rows = 1 + below(40), columns = 8 * (1 + below(40));
    Pair pair(rows * columns, static_cast<std::uint8_t>(below(3)));
    const std::uint8_t usual = static_cast<std::uint8_t>(below(2));
    for (int i = 0; i < 24; ++i) {
      const std::int64_t first = below(rows), height = below(3) ? rows - first : 1 + below(rows - first);
      const std::int64_t left = 8 * below(columns / 8), width = 8 * (1 + below((columns - left) / 8));
      const std::uint8_t value = below(6) ? usual : static_cast<std::uint8_t>(below(3));
      if (below(2)) {
        pair.fill_spaced(first * columns + left, width, columns, height, value);
      } else {
        for (std::int64_t r = first; r < first + height; ++r)
          pair.fill(r * columns + left, r * columns + left + width, value);
      }
      const std::int64_t begin = below(rows * columns), end = begin + below(rows * columns - begin + 1);
      ASSERT_NO_FATAL_FAILURE(pair.expect_range(begin, end));
      for (int k = 0; k < 4; ++k) ASSERT_NO_FATAL_FAILURE(expect_block(pair, rows, columns));
      ASSERT_NO_FATAL_FAILURE(pair.expect_all()) << "round " << round << ", step " << i;
    }
  }
}

// As parts of complex numbers are written: every second number, and then those between.
TEST(ByteMap, PartsOfPairsBecomeOneRange) {
  ByteMap map(128 * 1024, 1);
  for (std::int64_t half = 0; half < 2; ++half) {
    for (std::int64_t part = 0; part < 2; ++part) {
      SpacedRanges ranges{half * 512 + part * 4, 4};
      ASSERT_TRUE(ranges.repeat(8, 64) && ranges.repeat(1024, 128));
      EXPECT_FALSE(map.all(ranges, 0));
      map.fill(ranges, 0);
      EXPECT_TRUE(map.all(ranges, 0));
      EXPECT_EQ(map.count_nonzero(), 128 * (1024 - half * 512 - (part + 1) * 256));
    }
  }
  EXPECT_TRUE(map.is_uniform(0));
}

TEST(ByteMap, RandomRanges) {
  test::RandomRows random;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t size = 1 + random.below(round % 4 ? 300 : 9000);
    Pair pair(size, static_cast<std::uint8_t>(random.below(3)));
    const auto usual = static_cast<std::uint8_t>(random.below(2));
    for (int i = 0; i < 12; ++i) {
      pair.fill(random_ranges(random, size), random.below(6) ? usual : static_cast<std::uint8_t>(random.below(3)));
      for (int k = 0; k < 6; ++k) ASSERT_NO_FATAL_FAILURE(pair.expect(random_ranges(random, size)));
      ASSERT_NO_FATAL_FAILURE(pair.expect_all()) << "round " << round << ", step " << i;
    }
  }
}

// What ranges say of each other is true, and they say it of ranges of the same steps.
TEST(SpacedRanges, RandomPairs) {
  test::RandomRows random;
  int held = 0, apart = 0, taken = 0;
  const auto bytes_of = [](const SpacedRanges& ranges) {
    Bytes all(400);
    for_bytes(ranges, [&](std::int64_t byte) { ++all[byte]; });
    return all;
  };
  for (int round = 0; round < 20000; ++round) {
    const SpacedRanges a = random_ranges(random, 400);
    SpacedRanges b = round % 2 ? random_ranges(random, 400) : a, both = a;
    if (round % 2 == 0) b.begin = random.below(static_cast<std::uint32_t>(400 - b.span(0) + 1));
    const Bytes in_a = bytes_of(a), in_b = bytes_of(b);
    ASSERT_EQ(*std::max_element(in_a.begin(), in_a.end()), 1);
    bool holds = true, is_apart = true;
    for (int i = 0; i < 400; ++i) {
      holds = holds && in_a[i] >= in_b[i];
      is_apart = is_apart && !(in_a[i] && in_b[i]);
    }
    ASSERT_TRUE(holds || !a.holds(b));
    ASSERT_TRUE(is_apart || !a.is_apart(b));
    const std::int64_t from = random.below(401), to = random.below(401);
    ASSERT_EQ(a.covered(from, to), from < to ? std::count(in_a.begin() + from, in_a.begin() + to, 1) : 0);
    held += a.holds(b), apart += a.is_apart(b);
    if (!is_apart || !both.takes(b)) continue;
    ++taken;
    const Bytes in_both = bytes_of(both);
    for (int i = 0; i < 400; ++i) ASSERT_EQ(in_both[i], in_a[i] + in_b[i]) << "byte " << i;
  }
  EXPECT_GT(held, 100);
  EXPECT_GT(apart, 5000);
  EXPECT_GT(taken, 300);
}

}  // namespace
}  // namespace kiln::sim
