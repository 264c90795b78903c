// Rows that do not fit a partition, products over long sums, results of many columns.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

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

// A row whose first pieces have no number: the sum so far is corrected by a maximum that begins below all numbers.
TEST(Wide, SoftmaxOfHiddenColumns) {
  Builder b("softmax");
  const Expr x = b.input("x", {DType::float32, {3, 60000}});
  const Expr column = b.iota({DType::int32, {3, 60000}}, 1);
  b.output("out", softmax(where(column >= 20000.0, x, -INFINITY)));
  EXPECT_EQ(compare(b.finish(), 1, {}).wrong, "");
}

TEST(Wide, Columns) {
  Builder b("wide_columns");
  const Expr x = b.input("x", {f32, {3, 64}}), w = b.input("w", {f32, {64, 9000}}),
             bias = b.input("bias", {f32, {9000}});
  b.output("out", relu(matmul(x, w) + bias));
  expect_right(b.finish());
}

// Many rows over a long sum: products that are added up in float32.
// Some rows more than partitions: the matrix, which does not fit SBUF beside them, is read once for all of them.
TEST(Wide, RowsOfTwoBlocks) {
  const auto expect_once = [](DType t, std::int64_t columns, Target target) {
    Builder b("two_blocks");
    const Type x{t, {140, 2700}}, w{t, {2700, columns}}, y{t, {140, columns}};
    b.output("out", matmul(b.input("x", x), b.input("w", w)));
    const Outcome out = compare(b.finish(), 1, {.target = target, .level = 1});
    EXPECT_EQ(out.wrong, "") << isa::print(out.compiled.program);
    const auto least = static_cast<double>((x.size() + w.size() + y.size()) * size_bytes(t));
    EXPECT_LT(out.compiled.regions[0].hbm_bytes, 1.05 * least);
  };
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) expect_once(f32, 800, target);
  expect_once(DType::bfloat16, 1600, Target::trn2);
}

TEST(Wide, SumsOfManyRows) {
  for (const auto& [t, k, n] : {std::tuple{f32, 8300, 260}, std::tuple{DType::bfloat16, 16500, 260}}) {
    Builder b("long_sums");
    b.output("out", relu(matmul(b.input("x", {t, {130, k}}), b.input("w", {t, {k, n}}))));
    expect_right(b.finish());
  }
}

// Matrices that do not fit SBUF together are not loaded for every 128 rows.
TEST(Wide, MatricesOfSeveralProducts) {
  Builder b("mlp");
  constexpr DType t = DType::bfloat16;
  const Expr x = b.input("x", {t, {1024, 2880}}), w = b.input("w", {t, {2880, 2880}}),
             u = b.input("u", {t, {2880, 2880}});
  b.output("out", matmul(relu(matmul(x, w)), u));
  double moved = 0;
  for (const RegionReport& r : compile(b.finish(), {}).regions) moved += r.hbm_bytes;
  const double rows = 1024.0 * 2880 * 2, matrix = 2880.0 * 2880 * 2;
  EXPECT_LT(moved, 1.1 * (4 * rows + 2 * matrix));  // x, what is between them there and back, the result
}

TEST(Wide, Sums) {
  Builder b("long_sums");
  b.output("out", matmul(b.input("x", {f32, {5, 50000}}), b.input("w", {f32, {50000, 7}})));
  expect_right(b.finish());
}

// Columns of what lies in HBM with the long sum in front, as in the gradient of weights.
TEST(Wide, SumsOfTurnedRows) {
  Builder b("turned_sums");
  b.output("out", matmul(transpose(b.input("x", {f32, {9000, 150}})), b.input("y", {f32, {9000, 70}})));
  expect_right(b.finish());
}

// Parts of the matrix meet several blocks of rows while their sums wait in PSUM.
TEST(Wide, LongSumsOfManyRows) {
  Builder b("long_sums_of_rows");
  b.output("out", matmul(b.input("x", {f32, {300, 2700}}), b.input("w", {f32, {2700, 2100}})) * 0.5);
  expect_right(b.finish());
}

// A matrix that lies the other way round, with more rows than lie in SBUF beside 512 of its columns.
TEST(Wide, LongTurnedMatrix) {
  Builder b("long_turned");
  b.output("out", matmul(b.input("x", {f32, {20, 8000}}), transpose(b.input("w", {f32, {2100, 8000}}))));
  expect_right(b.finish());
}

TEST(Wide, JoinedOutputs) {
  Builder b("joined");
  const Expr x = b.input("x", {f32, {70, 40}}), y = b.input("y", {f32, {50, 40}});
  const Expr first = slice(x, 0, 0, 30), second = slice(x, 0, 30, 60);
  b.output("rows", concat({first * 2.0 + second, second - first, y, slice(exp(x), 0, 1, 4)}, 0));
  b.output("columns", transpose(concat({exp(x), x}, 1)));
  expect_right(b.finish());
}

TEST(Wide, HalvesOfAProduct) {
  Builder b("halves");
  const Expr x = b.input("x", {f32, {100, 200}}), w = b.input("w", {f32, {200, 2100}});
  const Expr h = matmul(x, w) + b.input("bias", {f32, {2100}});
  const Expr up = silu(slice(h, -1, 0, 1050)) * slice(h, -1, 1050, 2100);
  b.output("out", matmul(up, b.input("v", {f32, {1050, 60}})));
  expect_right(b.finish());
}

TEST(Wide, EightDimensions) {
  Builder b("eight");
  const Expr x = b.input("x", {f32, {2, 3, 2, 5, 2, 3, 2, 4}});
  b.output("turned", transpose(x, {7, 1, 5, 3, 0, 6, 2, 4}));
  b.output("more", exp(transpose(x, {1, 0, 3, 2, 5, 4, 7, 6})) + 1.0);
  b.output("rows", sum(x, {{7}}));
  expect_right(b.finish());
}

TEST(Wide, Nothing) {
  Builder b("nothing");
  const Expr x = b.input("x", {f32, {0, 40}}), w = b.input("w", {f32, {40, 30}}), y = b.input("y", {f32, {5, 0}});
  b.output("product", matmul(x, w));
  b.output("sums", matmul(y, b.input("z", {f32, {0, 7}})) + 1.0);
  b.output("softmax", softmax(x));
  b.output("joined", concat({x, b.input("more", {f32, {3, 40}})}, 0));
  expect_right(b.finish());
}

// With little SBUF tiles become smaller, and values wait in HBM; what is computed stays the same.
TEST(Wide, LittleSbuf) {
  Builder b("little");
  const Expr x = b.input("x", {f32, {200, 1500}}), w = b.input("w", {f32, {1500, 700}});
  const Expr h = rms_norm(x, b.input("gain", {f32, {1500}}));
  b.output("out", softmax(matmul(h, w) * 0.05) + mean(x, {{-1}, true}));
  const Graph graph = b.finish();
  for (std::int64_t bytes : {160 << 10, 80 << 10, 48 << 10}) {
    try {
      const Outcome out = compare(graph, 1, {.level = 1, .sbuf_bytes = bytes});
      EXPECT_EQ(out.wrong, "") << bytes;
    } catch (const Error& e) {
      ADD_FAILURE() << bytes << ": " << e.what();
    }
  }
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
