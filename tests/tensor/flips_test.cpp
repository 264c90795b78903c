// Long rows turned round: in pieces that fit a partition, with what is left, in every dtype and beside other ops.
#include <gtest/gtest.h>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/more.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

Graph flipped(const Type& type, const Ints& axes, bool more = false) {
  Builder b("flip");
  const Expr x = b.input("x", type), y = flip(x, axes);
  b.output("out", more ? y * 2.0 + x : y);
  return b.finish();
}

void expect_right(const Graph& graph, Target target) {
  const Outcome out = compare(graph, 1, {.target = target});
  EXPECT_EQ(out.wrong, "") << isa::print(out.compiled.program);
}

TEST(Flips, OfLongRows) {
  for (const Target target : kTargets) {
    expect_right(flipped({DType::float32, {3, 100003}}, {1}), target);  // pieces and a rest
    expect_right(flipped({DType::float32, {130, 12300}}, {1}), target);
    expect_right(flipped({DType::bfloat16, {7, 50001}}, {1}), target);
    expect_right(flipped({DType::int8, {5, 70000}}, {1}), target);
    expect_right(flipped({DType::int32, {2, 3, 20480}}, {0, 1, 2}), target);
    expect_right(flipped({DType::float32, {200001}}, {0}), target);
    expect_right(flipped({DType::float32, {9, 30001}}, {1}, true), target);
  }
}

TEST(Flips, OfPartsOfLongRows) {
  Builder b("flip");
  const Expr x = b.input("x", {DType::float32, {4, 60001}});
  b.output("odd", slice(x, 1, 50003, 17, -1));
  b.output("every_second", slice(x, 1, 60000, std::nullopt, -2));
  expect_right(b.finish(), Target::trn2);
}

// Element after element, DMAs would take 2000 us.
TEST(Flips, AreReadAndWrittenOnce) {
  for (const Type& type : {Type{DType::float32, {128, 32000}}, Type{DType::float32, {16, 100003}}}) {
    const double read_and_written = 2.0 * 4 * static_cast<double>(type.size()) / 368;
    EXPECT_LT(compile(flipped(type, {1})).time_ns, 1.25 * read_and_written);
  }
}

}  // namespace
}  // namespace kiln::tensor
