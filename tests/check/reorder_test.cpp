// Another order of the instructions computes the same.
#include "kiln/check/reorder.h"

#include <gtest/gtest.h>

#include <iostream>

#include "kiln/check/check_program.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/verify/verify.h"
#include "tests/check/run_random.h"
#include "tests/seed.h"

namespace kiln::check {
namespace {

constexpr unsigned kBoth = memory_bit(Memory::sbuf) | memory_bit(Memory::psum);

TEST(Reorder, RandomKernelsGiveTheSame) {
  const std::uint64_t seed = test::seed();
  int changed = 0;
  for (std::uint64_t i = 0; i < 150; ++i) {
    const isa::Program program = random_kernel(seed + i, 30);
    const std::vector<std::byte> expected = run_random(program, seed);
    for (const FillOrder fill : kFillOrders) {
      for (const unsigned memories : {memory_bit(Memory::sbuf), memory_bit(Memory::psum), kBoth}) {
        const isa::Program other = reordered(program, memories, fill);
        ASSERT_TRUE(isa::verify(other).empty()) << "seed " << seed + i;
        ASSERT_TRUE(run_random(other, seed) == expected) << "seed " << seed + i;
        changed += other.body != program.body;
      }
    }
  }
  EXPECT_GT(changed, 100) << "seed " << seed;
}

}  // namespace
}  // namespace kiln::check
