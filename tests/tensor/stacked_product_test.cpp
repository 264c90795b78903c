// Products of many rows of 32 or 64 elements, several of which the tensor engine turns together: the oracle's values,
// rows apart from each other, and fewer turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "kiln/tensor/ir/expr.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, f16 = DType::float16;

struct Short {
  DType dtype;
  std::int64_t rows, summed, columns;
  bool computed = false;  // rows before the product, and what comes of it
};

Graph product_of(const Short& c) {
  Builder b("product");
  Expr x = b.input("x", {c.dtype, {c.rows, c.summed}});
  if (c.computed) x = maximum(x, 0.25);
  Expr y = matmul(x, b.input("y", {c.dtype, {c.summed, c.columns}}));
  if (c.computed) y = tanh(y + b.input("bias", {c.dtype, {c.columns}}));
  b.output("out", y);
  return b.finish();
}

class StackedProduct : public testing::TestWithParam<Short> {};

TEST_P(StackedProduct, IsAsTheOracleSays) {
  const Graph graph = product_of(GetParam());
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    const Outcome outcome = compare(graph, 1, {.target = target}, {-1, 1});
    EXPECT_EQ(outcome.wrong, "");
    // Each block of 128 rows would be turned and multiplied by itself otherwise.
    if (target != Target::trn1) {
      EXPECT_LT(static_cast<double>(outcome.executed), 2.4 * static_cast<double>(GetParam().rows) / 128);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, StackedProduct,
                         testing::Values(Short{bf16, 20000, 32, 32}, Short{f32, 20000, 64, 64},
                                         Short{f32, 16001, 32, 10}, Short{bf16, 14592, 64, 33, true},
                                         Short{f32, 12345, 32, 32, true}, Short{f16, 9984, 64, 1 + 2}));

// Each of several matrices, whose rows are computed before and scaled behind.
TEST(StackedProducts, OfManyMatrices) {
  for (const auto& [dtype, batch, rows, summed, columns] :
       {std::tuple(bf16, 3, 1000, 64, 64), std::tuple(f32, 2, 640, 100, 30), std::tuple(f32, 3, 1024, 32, 32),
        std::tuple(bf16, 2, 1021, 64, 40)}) {
    Builder b("products");
    const Expr x = exp(b.input("x", {dtype, {batch, rows, summed}}));
    const Expr products = matmul(x, b.input("y", {dtype, {batch, summed, columns}}));
    b.output("out", products / sum(x, {.axes = {2}, .keepdims = true}));
    const Graph graph = b.finish();
    for (const Target target : {Target::trn1, Target::trn2, Target::trn3})
      EXPECT_EQ(compare(graph, 1, {.target = target}, {-1, 1}).wrong, "") << rows << " " << arch(target).name;
  }
}

// Rows above each other in the same block of the tensor engine have nothing of each other.
TEST(StackedProducts, KeepRowsApart) {
  const Graph graph = product_of({f32, 16384, 32, 32});
  Arrays inputs = random_inputs(graph, 2, {-1, 1});
  std::vector<double>& x = inputs.at("x").data;
  for (const std::int64_t row : {5, 1000, 1003, 16383})
    x[row * 32 + row % 32] = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t row : {6, 1100}) x[row * 32] = std::numeric_limits<double>::infinity();
  std::fill_n(x.begin() + 32 * 7, 32, -0.0);
  for (const Target target : {Target::trn2, Target::trn3})
    EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "");
}

}  // namespace
}  // namespace kiln::tensor
