// Which outputs take the place of an input, and what the program is then.
#include "kiln/rewrite/in_place.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/isa/text/parse.h"
#include "kiln/isa/text/print.h"

namespace kiln::rewrite {
namespace {
using namespace isa;

// x is the first tensor, y the last one before the statements.
std::optional<Program> updated(const std::string& statements) {
  const Program program = parse(fmt::format(R"(kiln 1
program "k" target trn2
tensor x: input hbm float32 [4, 8]
tensor other: output shared_hbm float32 [4, 8]
tensor y: output shared_hbm float32 [4, 8]
{})",
                                            statements),
                                "k.kiln");
  return updated_in_place(program, 0, 2);
}

std::string loop_of(const std::string& body) { return fmt::format("loop i = 0 .. 4 step 2 {{\n{}}}\n", body); }

constexpr const char* kLoad = "  dma_copy(dst=t, src=x.ap([[8, 2], [1, 8]], offset=8*i))\n";
constexpr const char* kStore = "  dma_copy(dst=y.ap([[8, 2], [1, 8]], offset=8*i), src=t)\n";
constexpr const char* kTile = "  tensor t: sbuf float32 [2, 8]\n";

TEST(InPlace, EachPassMayReadWhatItWrites) {
  const std::optional<Program> made = updated(loop_of(std::string(kTile) + kLoad + kStore));
  ASSERT_TRUE(made);
  EXPECT_EQ(print(*made, {.locations = false}), R"(kiln 1
program "k" target trn2
tensor x: inout hbm float32 [4, 8]
tensor other: output shared_hbm float32 [4, 8]
loop i = 0 .. 4 step 2 {
  tensor t: sbuf float32 [2, 8]
  dma_copy(dst=t, src=x.ap([[8, 2], [1, 8]], offset=8*i))
  dma_copy(dst=x.ap([[8, 2], [1, 8]], offset=8*i), src=t)
}
)");
}

TEST(InPlace, AllReadsMayComeBeforeAllWrites) {
  EXPECT_TRUE(updated("tensor t: sbuf float32 [4, 8]\ndma_copy(dst=t, src=x)\ndma_copy(dst=y, src=t)\n"));
  EXPECT_TRUE(updated("tensor t: sbuf float32 [4, 8]\ndma_copy(dst=t, src=x)\ndma_copy(dst=other, src=x)\n" +
                      loop_of("  dma_copy(dst=y.ap([[8, 2], [1, 8]], offset=8*i), src=t.ap(0:2, [[1, 8]]))\n")));
}

TEST(InPlace, WhatIsWrittenIsNotReadAfterwards) {
  const std::string loop = loop_of(std::string(kTile) + kLoad + kStore);
  EXPECT_FALSE(updated(loop + "dma_copy(dst=other, src=x)\n"));         // of the input, later
  EXPECT_FALSE(updated(loop + "dma_copy(dst=other, src=y)\n"));         // of the output
  EXPECT_FALSE(updated("dma_copy(dst=y, src=x)\n"));                    // in one instruction
  EXPECT_FALSE(updated(loop_of(std::string(kTile) + kStore + kLoad)));  // in the next pass
  const std::string shifted = "  dma_copy(dst=t, src=x.ap([[8, 2], [1, 8]], offset=-8*i + 16))\n";
  EXPECT_FALSE(updated(loop_of(kTile + shifted + kStore)));  // of another pass
  const std::string wide = "  tensor w: sbuf float32 [2, 8]\n  dma_copy(dst=w, src=x.ap([[8, 2], [1, 8]]))\n";
  EXPECT_FALSE(updated(loop_of(kTile + wide + kLoad + kStore)));  // of the first pass, in each
  const std::string rows = loop_of(
      "  tensor r: sbuf float32 [3, 8]\n  dma_copy(dst=r.ap(0:3, [[1, 4]]), "
      "src=x.ap([[8, 3], [1, 4]], offset=4*i))\n  dma_copy(dst=y.ap([[8, 3], [1, 4]], "
      "offset=4*i), src=r.ap(0:3, [[1, 4]]))\n");
  EXPECT_FALSE(updated(rows));  // passes whose elements mix
}

TEST(InPlace, TensorsAreOfOneKind) {
  const Program program = parse(R"(kiln 1
program "k" target trn2
tensor x: input hbm float32 [4, 8]
tensor y: output shared_hbm float32 [8, 4]
tensor z: output shared_hbm bfloat16 [4, 8]
)",
                                "k.kiln");
  EXPECT_FALSE(updated_in_place(program, 0, 1));
  EXPECT_FALSE(updated_in_place(program, 0, 2));
  EXPECT_FALSE(updated_in_place(program, 1, 0));
}

}  // namespace
}  // namespace kiln::rewrite
