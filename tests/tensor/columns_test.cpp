// Short columns of several matrices on a partition, and outputs that are views at no fixed strides of what is computed.
#include <gtest/gtest.h>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/more.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;
constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

Graph soft(const Type& type, std::int64_t axis) {
  Builder b("soft");
  b.output("out", softmax(b.input("x", type), axis));
  return b.finish();
}

Graph normed(const Type& type, std::int64_t axis) {
  Builder b("norm");
  const Expr x = b.input("x", type), centred = x - mean(x, {{axis}, true});
  Shape gains = type.shape;
  gains[static_cast<std::size_t>(axis)] = 1;
  b.output("out", centred * rsqrt(mean(square(centred), {{axis}, true}) + 1e-5) * b.input("gain", {type.dtype, gains}));
  b.output("means", mean(x, {{axis}, false}));
  return b.finish();
}

void expect_right(const Graph& graph, Target target) {
  const Outcome out = compare(graph, 1, {.target = target});
  EXPECT_EQ(out.wrong, "") << isa::print(out.compiled.program);
}

TEST(Columns, ShortOnesOfSeveralMatrices) {
  for (const Target target : kTargets) {
    for (const DType t : {f32, bf16}) {
      expect_right(soft({t, {12, 33, 209}}, 1), target);
      expect_right(normed({t, {10, 70, 130}}, 1), target);
      expect_right(normed({t, {3, 4, 20, 5, 41}}, 2), target);
      expect_right(soft({t, {7, 130, 130}}, 1), target);
    }
  }
}

// What is computed has its columns in another order than the output: its dimensions join in the output alone.
TEST(Columns, OutputsThatJoinDimensions) {
  for (const Target target : kTargets) {
    Builder b("joined");
    const Expr x = b.input("x", {f32, {6, 50, 9, 16}}), y = exp(transpose(x, {0, 2, 1, 3}) * 0.5);
    b.output("heads", reshape(transpose(y, {0, 2, 1, 3}), {6, 50, 144}));
    b.output("rows", reshape(transpose(y, {0, 2, 1, 3}), {300, 144}));
    b.output("sums", sum(reshape(transpose(y, {2, 0, 3, 1}), {50, 6, 144}), {{2}, false}));
    b.output("read", reshape(transpose(y, {3, 1, 0, 2}), {144, 300}));
    expect_right(b.finish(), target);
  }
}

double read_and_written_ns(const Type& t) { return 2.0 * static_cast<double>(t.size() * size_bytes(t.dtype)) / 368; }

TEST(Columns, ShortOnesAreReadAndWrittenOnce) {
  const Type type{f32, {300, 64, 333}};
  EXPECT_LT(compile(soft(type, 1)).time_ns, 1.45 * read_and_written_ns(type));
  EXPECT_LT(compile(normed(type, 1)).time_ns, 1.65 * read_and_written_ns(type));
}

Graph product(DType t, std::int64_t m, std::int64_t k, std::int64_t n) {
  Builder b("product");
  b.output("out", matmul(b.input("x", {t, {m, k}}), b.input("w", {t, {k, n}})));
  return b.finish();
}

// Rows that fill the last block badly are columns that come by the matrix; the result is turned.
TEST(Columns, RowsThatComeByAMatrix) {
  for (const Target target : kTargets) expect_right(product(f32, 129, 520, 1030), target);
  expect_right(product(f32, 257, 513, 1027), Target::trn2);
  expect_right(product(bf16, 300, 2049, 1030), Target::trn2);
  constexpr double kBlocksOfRowsNs = 3.0 * 4096 * 32 * 4 / 2.4;
  EXPECT_LT(compile(product(f32, 300, 4096, 4096)).time_ns, 0.88 * kBlocksOfRowsNs);
}

// Channels last, in groups that each have a mean and a deviation.
Graph group_norm(DType t, const Shape& shape, std::int64_t groups) {
  Builder b("groups");
  const std::int64_t places = shape[1] * shape[2], channels = shape[3];
  const Expr x = reshape(b.input("x", {t, shape}), {shape[0], places, groups, channels / groups});
  const Expr centred = x - mean(x, {{1, 3}, true});
  const Expr y = reshape(centred * rsqrt(mean(square(centred), {{1, 3}, true}) + 1e-5), shape);
  b.output("out", y * b.input("gain", {t, {channels}}) + b.input("bias", {t, {channels}}));
  return b.finish();
}

TEST(Columns, GroupsOfChannelsThatAreLast) {
  for (const Target target : kTargets) {
    expect_right(group_norm(f32, {4, 32, 32, 256}, 8), target);
    expect_right(group_norm(f32, {3, 31, 37, 320}, 32), target);  // no part of 31 x 37 rows fits
    expect_right(group_norm(bf16, {9, 30, 34, 320}, 32), target);
  }
}

// A row of one place is a few channels: without several places in it, single sums would be moved to be added up.
TEST(Columns, GroupsAreReadTwice) {
  const Shape shape{16, 32, 32, 256};
  EXPECT_LT(compile(group_norm(f32, shape, 8)).time_ns, 2.2 * read_and_written_ns({f32, shape}));
}

}  // namespace
}  // namespace kiln::tensor
