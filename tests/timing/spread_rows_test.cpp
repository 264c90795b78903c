// Rows that a product with ones spreads over the partitions, and what reading them costs.
#include "kiln/analysis/spread_rows.h"

#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {
namespace {
using analysis::find_spread_rows;
using namespace isa;

constexpr DType kF32 = DType::float32;

struct Spread {
  bool onezero = true;           // the hint of the product
  bool overwrites = false;       // the tile is written again
  std::int64_t part = 512;       // columns that the copy takes
  DType dtype = DType::float32;  // of the tile
};

// A row spread, copied and multiplied with a tile; the last instruction is the multiplication.
Program spread(const Spread& how, Target target = Target::trn1) {
  Kernel k("spread", target);
  k.fragment();
  const View row = k.input("row", {1, 512}, kF32, Memory::sbuf), x = k.input("x", {128, 512}, kF32, Memory::sbuf);
  const View out = k.output("out", {128, 512}, kF32, Memory::sbuf), ones = k.sbuf({1, 128}, kF32);
  const View bank = k.psum({128, 512}, kF32), tile = k.sbuf({128, 512}, how.dtype);
  k.memset({.dst = ones, .value = 1.0});
  k.nc_matmul({.dst = bank, .stationary = ones, .moving = row, .is_stationary_onezero = how.onezero});
  if (how.overwrites || how.part < 512) k.memset({.dst = tile, .value = 0.0});
  k.activation({.dst = tile(all, ds(0, how.part)), .op = ActFn::copy, .data = bank(all, ds(0, how.part))});
  k.tensor_tensor({.dst = out, .data1 = x, .data2 = tile, .op = AluOp::multiply});
  return k.finish();
}

Time last_takes(const Program& p) { return simulate(p, arch(p.target)).events.back().occupied; }

TEST(SpreadRows, AreFoundByHowTheyAreMade) {
  const std::vector<analysis::SpreadRow> rows = find_spread_rows(spread({}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(spread({}).tensors[rows[0].tile].memory, Memory::sbuf);
  EXPECT_TRUE(find_spread_rows(spread({.onezero = false})).empty());
  EXPECT_TRUE(find_spread_rows(spread({.overwrites = true})).empty());
  EXPECT_TRUE(find_spread_rows(spread({.part = 256})).empty());
  EXPECT_TRUE(find_spread_rows(spread({.dtype = DType::bfloat16})).empty());
}

// Two float32 tiles of SBUF pass the vector engine of trn1 at half an element per cycle, one of PSUM at one.
TEST(SpreadRows, AreReadAtTheRateOfPsumOnTrn1) {
  const double clock = arch(Target::trn1).vector.clock_ghz;
  EXPECT_NEAR(to_ns(last_takes(spread({}))), 512 / clock, 1);
  EXPECT_NEAR(to_ns(last_takes(spread({.onezero = false}))), 2 * 512 / clock, 1);
  for (const Target target : {Target::trn2, Target::trn3})
    EXPECT_EQ(last_takes(spread({}, target)), last_takes(spread({.onezero = false}, target)));
}

// Their memory is PSUM's: eight banks of rows wait for each other, and SBUF does not.
TEST(SpreadRows, TakePsum) {
  Kernel k("many", Target::trn1);
  const View rows = k.input("rows", {32, 512}, kF32), out = k.output("out", {128, 512}, kF32);
  const View ones = k.sbuf({1, 128}, kF32), sum = k.sbuf({128, 512}, kF32);
  k.memset({.dst = ones, .value = 1.0});
  k.memset({.dst = sum, .value = 0.0});
  k.loop(32, [&](Index i) {
    const View row = k.sbuf({1, 512}, kF32), bank = k.psum({128, 512}, kF32), tile = k.sbuf({128, 512}, kF32);
    k.dma_copy({.dst = row, .src = rows(ds(i, 1), all)});
    k.nc_matmul({.dst = bank, .stationary = ones, .moving = row, .is_stationary_onezero = true});
    k.activation({.dst = tile, .op = ActFn::copy, .data = bank});
    k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = tile, .op = AluOp::add});
  });
  k.dma_copy({.dst = out, .src = sum});
  const Program p = k.finish();
  for (const bool reorder : {false, true}) {
    const Timeline t = simulate(p, arch(Target::trn1), {.reorder = reorder});
    std::int64_t psum = 0;
    for (const MemorySample& sample : t.memory) psum = std::max(psum, sample.psum_bytes);
    EXPECT_LE(psum, arch(Target::trn1).psum_banks * arch(Target::trn1).psum_bank_bytes);
    EXPECT_GT(psum, arch(Target::trn1).psum_bank_bytes);
  }
}

}  // namespace
}  // namespace kiln::timing
