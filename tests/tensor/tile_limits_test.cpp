// Instructions by the limits of tiles, counted by hand: 128 rows, 128 x 128 of what is held, 512 columns of a result.
#include "kiln/tensor/lower/tile_limits.h"

#include <gtest/gtest.h>

#include "kiln/arch/arch.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/lower/lower.h"
#include "kiln/tensor/lower/report.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

double counted(Builder& b) { return compile(b.finish(), {.level = 1}).by_tile_limits; }

TEST(TileLimits, Product) {
  Builder b("product");
  b.output("y", matmul(b.input("x", {f32, {128, 1024}}), b.input("w", {f32, {1024, 6144}})));
  // Loads of x and of 8 blocks of w, 8 x 12 products, 12 results that leave PSUM, a store.
  EXPECT_EQ(counted(b), 1 + 8 + 96 + 12 + 1);
}

TEST(TileLimits, ProductWithFewColumnsHoldsThem) {
  Builder b("narrow");
  b.output("y", matmul(b.input("x", {bf16, {1000, 256}}), b.input("w", {bf16, {256, 100}})));
  // The 100 columns are held: 2 pieces of 512 rows for each of 2 blocks, and 2 results.
  EXPECT_EQ(counted(b), 8 + 2 + 2 * 2 + 2 + 8);
}

TEST(TileLimits, Rows) {
  Builder b("softmax");
  b.output("y", softmax(b.input("x", {f32, {256, 512}})));
  EXPECT_EQ(counted(b), 2 * (1 + 6 / 2 + 1));  // max subtract exp sum reciprocal multiply, two by two
}

TEST(TileLimits, LeadingAxes) {
  Builder b("columns");
  const Expr x = b.input("x", {f32, {300, 1000}});
  b.output("sum", sum(x, {{0}, false}));
  // With ones, 512 columns at a time; asked before the passes give the reduction an order.
  EXPECT_EQ(instructions_by_tile_limits(b.finish(), arch(Target::trn2)), 3 + 3 * 2 + 1);
}

TEST(TileLimits, Transpose) {
  Builder b("turned");
  b.output("y", transpose(b.input("x", {f32, {300, 1000}})));
  EXPECT_EQ(counted(b), 3 + 8 * 3 + 8);
}

TEST(TileLimits, Loops) {
  const auto counted_after = [](std::int64_t passes) {
    Builder inner("body");
    inner.input("i", {DType::int32, {}});
    inner.output("next", tanh(inner.input("s", {f32, {64, 32}})));
    Graph g("loop");
    const Value x = g.input("x", {f32, {64, 32}});
    const Body body = std::make_shared<const Graph>(inner.finish());
    g.output("y", g.add(OpCode::for_loop, {x}, {passes, std::int64_t{1}}, {body}));
    return instructions_by_tile_limits(g, arch(Target::trn2));
  };
  EXPECT_EQ(counted_after(10), 2 + 5);
  EXPECT_EQ(counted_after(100), 2 + 50);
}

TEST(TileLimits, UpdatesMoveWhatTheyChange) {
  Builder b("update");
  const Expr cache = b.input("cache", {f32, {4096, 128}}), row = b.input("row", {f32, {1, 128}});
  b.output("y", update_slice(cache, row, b.input("at", {DType::int32, {}}), 0));
  EXPECT_LE(counted(b), 4);
}

TEST(TileLimits, AreInTheReport) {
  Builder b("softmax");
  b.output("y", softmax(b.input("x", {f32, {256, 512}})));
  const std::string text = report_text(compile(b.finish()));
  EXPECT_NE(text.find("12 instructions executed, 10 by the limits of tiles"), std::string::npos) << text;
}

}  // namespace
}  // namespace kiln::tensor
