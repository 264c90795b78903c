// Products that add up over all rows of a region, x.T @ y: the same values as the oracle's on every chip, and operands
// that are read once.
#include <gtest/gtest.h>

#include <numeric>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;
constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

class RowProducts : public ::testing::Test {
 protected:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  void expect_right(const Graph& graph) {
    for (const Target target : kTargets) {
      const Outcome out = compare(graph, static_cast<unsigned>(random_()), {.target = target});
      EXPECT_EQ(out.wrong, "") << print(graph) << isa::print(out.compiled.program);
    }
  }

  std::mt19937_64 random_{test::seed()};
};

Graph covariance(DType t, std::int64_t rows, std::int64_t columns) {
  Builder b("covariance");
  const Expr x = b.input("x", {t, {rows, columns}}), centred = x - mean(x, {{0}, true});
  b.output("out", matmul(transpose(centred), centred) * (1.0 / static_cast<double>(rows - 1)));
  return b.finish();
}

TEST_F(RowProducts, OfWhatIsCentred) {
  for (const DType t : {f32, bf16}) {
    expect_right(covariance(t, pick(512, 700), pick(2, 200)));
    expect_right(covariance(t, 640, 160));
  }
}

// Rows that a region makes of a product, with what the product reads.
TEST_F(RowProducts, OfAGradient) {
  for (const DType t : {f32, bf16}) {
    Builder b("gradient");
    const std::int64_t rows = pick(512, 1100), depth = pick(3, 300), classes = pick(1, 12);
    const Expr x = b.input("x", {t, {rows, depth}}), w = b.input("w", {t, {depth, classes}});
    const Expr e = sigmoid(matmul(x, w)), y = b.input("y", {t, {rows, classes}});
    b.output("dw", matmul(transpose(x), e - y));
    b.output("db", sum(e - y, {{0}}));
    expect_right(b.finish());
  }
}

// The left side and the right side are of two regions, and one of them is read by others too.
TEST_F(RowProducts, OfTwoRegions) {
  Builder b("two");
  const std::int64_t rows = pick(512, 800), m = pick(100, 200), n = pick(20, 100);
  const Expr x = exp(b.input("x", {f32, {rows, m}})), y = b.input("y", {f32, {n, rows}});
  const Expr turned = tanh(transpose(y) * 0.5);
  b.output("product", matmul(transpose(x), turned));
  b.output("sums", sum(turned, {{1}}));
  b.output("quarter", x * 0.25);
  expect_right(b.finish());
}

TEST_F(RowProducts, OfAStepOfKMeans) {
  Builder b("k_means");
  const std::int64_t rows = pick(512, 900), depth = pick(8, 64), centres = pick(20, 200);
  const Expr x = b.input("x", {f32, {rows, depth}}), c = b.input("c", {f32, {centres, depth}});
  const Expr nearest = argmin(sum(square(c), {{1}}) - matmul(x, transpose(c)) * 2.0, 1);
  std::vector<double> places(static_cast<std::size_t>(centres));
  std::iota(places.begin(), places.end(), 0.0);
  const Expr place = b.constant({DType::int32, {1, centres}}, places);
  const Expr chosen = cast(equal(place, reshape(nearest, {rows, 1})), f32);
  b.output("sums", matmul(transpose(chosen), x));
  b.output("counts", sum(chosen, {{0}}));
  expect_right(b.finish());
}

// Weights of 8 bits: DMAs convert them, and factors of columns are applied behind the product.
TEST_F(RowProducts, OfWeightsOf8Bits) {
  for (const DType t : {f32, bf16}) {
    for (const DType narrow : {DType::int8, DType::uint8}) {
      Builder b("weights");
      const std::int64_t k = pick(100, 300), n = pick(30, 600);
      const Expr x = b.input("x", {t, {pick(1, 200), k}}), w = b.input("w", {narrow, {k, n}});
      const Expr scale = b.input("scale", {t, {n}});
      b.output("out", matmul(x, cast(w, t) * scale));
      const Graph graph = b.finish();
      expect_right(graph);
      EXPECT_TRUE(compile(graph).spills.empty());
    }
  }
}

// What is centred is not stored, and neither is it turned.
TEST(RowProductsOnce, AddUpWhileRowsCome) {
  for (const DType t : {f32, bf16}) {
    const Compiled made = compile(covariance(t, 16384, 256));
    for (const Spill& s : made.spills) EXPECT_LE(s.bytes, 256 * 256 * 4) << s.what;
  }
}

}  // namespace
}  // namespace kiln::tensor
