// overlaps_partially against bytes listed one by one.
#include "kiln/isa/semantics/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kiln/isa/semantics/check.h"
#include "tests/num/random_rows.h"

namespace kiln::isa {
namespace {

// First bytes of the elements in row-major order; a partition is 4096 bytes.
std::vector<std::int64_t> addresses(const Program& p, const Access& a) {
  const bool on_chip = is_on_chip(p.tensors[a.tensor].memory);
  const std::int64_t size = size_bytes(a.dtype);
  std::vector<std::int64_t> out{a.partition.constant * 4096 + a.offset.constant * size};
  for (int d = 0; d < a.rank; ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : out) {
      for (std::int64_t i = 0; i < a.dims[d].count; ++i)
        next.push_back(base + i * a.dims[d].stride * (on_chip && d == 0 ? 4096 : size));
    }
    out = std::move(next);
  }
  return out;
}

bool brute_force(const Program& p, const Access& a, const Access& b) {
  const auto x = addresses(p, a), y = addresses(p, b);
  if (a.dtype == b.dtype && x == y) return false;
  std::set<std::int64_t> bytes;
  for (const std::int64_t at : x) {
    for (int i = 0; i < size_bytes(a.dtype); ++i) bytes.insert(at + i);
  }
  return std::any_of(y.begin(), y.end(), [&](std::int64_t at) {
    for (int i = 0; i < size_bytes(b.dtype); ++i) {
      if (bytes.contains(at + i)) return true;
    }
    return false;
  });
}

// A small pattern somewhere in the tensor; strides may be negative, zero, or make runs overlap.
Access random_access(test::RandomRows& random, bool on_chip) {
  constexpr DType kDTypes[] = {DType::uint8, DType::bfloat16, DType::float32};
  Access a;
  a.tensor = 0;
  a.dtype = kDTypes[random.below(3)];
  a.rank = static_cast<std::uint8_t>(2 + random.below(3));
  std::int64_t lowest = 0;
  for (int d = 0; d < a.rank; ++d) {
    a.dims[d] = {static_cast<std::int64_t>(random.below(12)) - 2, 1 + random.below(4)};
    if (on_chip && d == 0) {
      a.dims[d].stride = 1;
      a.partition.constant = random.below(4);
    } else {
      if (random.below(3) == 0) a.dims[d].stride = 1;
      lowest += std::min<std::int64_t>(0, a.dims[d].stride * (a.dims[d].count - 1));
    }
  }
  a.offset.constant = random.below(40) - lowest;
  return a;
}

TEST(Overlap, AgreesWithBytesListedOneByOne) {
  test::RandomRows random;
  int same = 0, apart = 0, part = 0;
  for (int i = 0; i < 40000; ++i) {
    const bool on_chip = random.below(2);
    Program p;
    p.tensors.push_back(
        {.name = "t", .memory = on_chip ? Memory::sbuf : Memory::hbm, .dtype = DType::uint8, .shape = {128, 4096}});
    const Access a = random_access(random, on_chip);
    Access b = random_access(random, on_chip);
    if (random.below(8) == 0) {  // the same elements, or nearly
      b = a;
      if (random.below(2)) b.dims[random.below(b.rank)].count = 1 + random.below(4);
    }
    const bool wanted = brute_force(p, a, b);
    ASSERT_EQ(overlaps_partially(p, a, b), wanted)
        << "round " << i << (on_chip ? " on chip" : " in HBM") << ": " << shape_text(a) << " and " << shape_text(b)
        << ", offsets " << a.offset.constant << " and " << b.offset.constant;
    ASSERT_EQ(overlaps_partially(p, b, a), wanted) << "round " << i << ", swapped";
    wanted ? ++part : addresses(p, a) == addresses(p, b) ? ++same : ++apart;
  }
  for (const int count : {same, apart, part}) EXPECT_GT(count, 500);
}

// A row of one partition and a column of all partitions have equal lengths and strides.
TEST(Overlap, ARowAndAColumnMeetInTheirCorner) {
  Program p;
  p.tensors.push_back({.name = "t", .memory = Memory::sbuf, .dtype = DType::float32, .shape = {128, 128}});
  Access row = whole(p, 0), column = whole(p, 0);
  row.dims[0].count = 1;
  column.dims[1].count = 1;
  EXPECT_TRUE(overlaps_partially(p, row, column));
  column.offset.constant = 128;
  EXPECT_FALSE(overlaps_partially(p, row, column));
}

TEST(Overlap, OtherTensorsAndMovingAddressesAreNotJudged) {
  Program p;
  for (const char* name : {"t", "u"})
    p.tensors.push_back({.name = name, .memory = Memory::sbuf, .dtype = DType::float32, .shape = {128, 128}});
  p.loops.push_back({.variable = "i", .upper = {false, 4}});
  p.terms = {{0, 8}};
  Access a = whole(p, 0), b = whole(p, 0), other = whole(p, 1);
  a.dims[1].count = b.dims[1].count = other.dims[1].count = 8;
  b.offset.constant = 4;
  EXPECT_TRUE(overlaps_partially(p, a, b));
  EXPECT_FALSE(overlaps_partially(p, a, other));
  b.offset.term_count = 1;  // only b moves
  EXPECT_FALSE(overlaps_partially(p, a, b));
  a.offset.term_count = 1;  // both move alike
  EXPECT_TRUE(overlaps_partially(p, a, b));
  a.dynamic = 0;
  EXPECT_FALSE(overlaps_partially(p, a, b));
}

}  // namespace
}  // namespace kiln::isa
