// Rows that do not fit a partition, products over long sums, results of many columns.
#include <gtest/gtest.h>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32;

void expect_right(const Graph& graph) {
  try {
    const Outcome out = compare(graph);
    EXPECT_EQ(out.wrong, "") << isa::print(out.compiled.program);
  } catch (const Error& e) {
    ADD_FAILURE() << e.what();
  }
}

TEST(Wide, Softmax) {
  Builder b("wide_softmax");
  b.output("out", softmax(b.input("x", {f32, {3, 150000}})));
  expect_right(b.finish());
}

TEST(Wide, RowsInPieces) {
  Builder b("wide_rows");
  b.output("out", softmax(b.input("x", {f32, {130, 60001}})));
  expect_right(b.finish());
}

TEST(Wide, LayerNorm) {
  Builder b("wide_norm");
  b.output("out", layer_norm(b.input("x", {f32, {2, 70001}}), b.input("gain", {f32, {70001}}),
                             b.input("bias", {f32, {70001}})));
  expect_right(b.finish());
}

TEST(Wide, Columns) {
  Builder b("wide_columns");
  const Expr x = b.input("x", {f32, {3, 64}}), w = b.input("w", {f32, {64, 9000}}),
             bias = b.input("bias", {f32, {9000}});
  b.output("out", relu(matmul(x, w) + bias));
  expect_right(b.finish());
}

TEST(Wide, Sums) {
  Builder b("long_sums");
  b.output("out", matmul(b.input("x", {f32, {5, 50000}}), b.input("w", {f32, {50000, 7}})));
  expect_right(b.finish());
}

TEST(Wide, MatrixThatDoesNotFit) {
  Builder b("large_matrix");
  const Expr x = b.input("x", {f32, {600, 256}}), w = b.input("w", {f32, {256, 9000}}),
             bias = b.input("bias", {f32, {9000}});
  b.output("out", relu(matmul(x, w) + bias));
  expect_right(b.finish());
}

TEST(Wide, Elementwise) {
  Builder b("wide_elementwise");
  const Expr x = b.input("x", {f32, {2, 150001}}), row = b.input("row", {f32, {150001}});
  b.output("out", exp(x) * row);
  expect_right(b.finish());
}

}  // namespace
}  // namespace kiln::tensor
