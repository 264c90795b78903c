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

}  // namespace
}  // namespace kiln::tensor
