// Programs that compilers of tensor programs are known to get wrong, or to make too large.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32;

Outcome expect_right(Builder& b, const InputOptions& range = {}) {
  const Graph graph = b.finish();
  try {
    Outcome out = compare(graph, 11, {}, range);
    EXPECT_EQ(out.wrong, "") << isa::print(out.compiled.program);
    return out;
  } catch (const Error& e) {
    ADD_FAILURE() << e.what();
    return {};
  }
}

TEST(KnownFaults, JoinsAlongNegativeAxes) {
  Builder b("join");
  b.output("out", concat({b.input("x", {f32, {2, 3, 5}}), b.input("y", {f32, {2, 3, 1}})}, -1));
  expect_right(b);
}

TEST(KnownFaults, SlicesAreClampedAndRunBackwards) {
  Builder b("slices");
  const Expr x = b.input("x", {f32, {40, 6}});
  b.output("long", slice(x, 0, 0, 100));
  b.output("backwards", slice(x, 0, {}, {}, -1));
  b.output("used", slice(x, 1, {}, {}, -2) * 2.0);
  b.output("none", slice(x, 0, 5, 5));
  expect_right(b);
}

TEST(KnownFaults, FlipIsSmall) {
  Builder b("flip");
  b.output("out", slice(b.input("x", {f32, {256, 256}}), 1, {}, {}, -1));
  EXPECT_LE(expect_right(b).compiled.program.instructions.size(), 20u);
}

TEST(KnownFaults, OneElementOnTheLeft) {
  Builder b("left");
  const Expr x = b.input("x", {f32, {130, 20}});
  b.output("from_one", b.input("one", {f32, {1, 1}}) - x);
  b.output("from_column", b.input("column", {f32, {130, 1}}) / (x + 5.0));
  b.output("from_row", b.input("row", {f32, {1, 20}}) - x);
  expect_right(b);
}

TEST(KnownFaults, BroadcastsInTheMiddle) {
  Builder b("middle");
  b.output("out", b.input("x", {f32, {3, 1, 7}}) * b.input("y", {f32, {5, 7}}) + b.input("z", {f32, {3, 5, 1}}));
  expect_right(b);
}

TEST(KnownFaults, VectorsInProducts) {
  Builder b("vectors");
  const Expr x = b.input("x", {f32, {40}}), y = b.input("y", {f32, {40}}), m = b.input("m", {f32, {40, 7}});
  b.output("dot", matmul(x, y));
  b.output("left", matmul(x, m));
  b.output("right", matmul(transpose(m), y));
  expect_right(b);
}

TEST(KnownFaults, RoundingOfLargeAndNegativeNumbers) {
  Builder b("rounding");
  const Expr x = b.input("x", {f32, {4, 50}});
  b.output("floor", floor(x));
  b.output("ceil", ceil(x));
  b.output("trunc", trunc(x));
  b.output("rint", rint(x));
  expect_right(b, {-1e12, 1e12});
  Builder c("rounding");
  const Expr y = c.input("x", {f32, {4, 50}});
  c.output("floor", floor(y));
  c.output("ceil", ceil(y));
  c.output("trunc", trunc(y));
  c.output("rint", rint(y));
  expect_right(c, {-9, 9});
}

TEST(KnownFaults, StatisticsAndProducts) {
  Builder b("statistics");
  const Expr x = b.input("x", {f32, {20, 6}});
  b.output("variance", variance(x, {{1}}, 1));
  b.output("deviation", standard_deviation(x, {{0}}, 1));
  b.output("product", prod(x, {{1}}));
  expect_right(b);
}

TEST(KnownFaults, DivisionThatIsExact) {
  Builder b("division");
  const Expr x = b.input("x", {DType::int16, {30, 40}}), y = b.input("y", {DType::int16, {30, 40}});
  b.output("quotient", floor_divide(x, y));
  b.output("rest", remainder(x, y));
  expect_right(b);
}

TEST(KnownFaults, InfiniteLiterals) {
  Builder b("mask");
  std::vector<double> numbers(64 * 64, 0);
  for (int i = 0; i < 64; ++i) {
    for (int j = i + 1; j < 64; ++j) numbers[i * 64 + j] = -std::numeric_limits<double>::infinity();
  }
  b.output("out", softmax(b.input("x", {f32, {3, 64, 64}}) + b.constant({f32, {64, 64}}, numbers)));
  EXPECT_LE(expect_right(b).compiled.program.instructions.size(), 20u);
}

TEST(KnownFaults, WhereWithNanInTheOtherBranch) {
  Builder b("where");
  const Expr x = b.input("x", {f32, {5, 40}});
  b.output("out", where(x > 0.0, sqrt(x), 0.0));
  expect_right(b);
}

TEST(KnownFaults, AnglesBeyondOneTurn) {
  Builder b("angles");
  const Expr x = b.input("x", {f32, {4, 100}});
  b.output("sin", sin(x));
  b.output("cos", cos(x));
  expect_right(b, {-1e4, 1e4});
}

TEST(KnownFaults, SmallIntegersWrap) {
  Builder b("wrap");
  const Expr x = b.input("x", {DType::int8, {9, 30}}), y = b.input("y", {DType::int8, {9, 30}});
  b.output("sum", x + y);
  b.output("product", x * y);
  b.output("mixed", x * 0.5);
  b.output("quotient", x / 2);
  expect_right(b);
}

TEST(KnownFaults, PositionsOfTiesAndNan) {
  Builder b("positions");
  const Expr x = b.input("x", {f32, {3, 6}});
  b.output("largest", argmax(x, 1));
  b.output("smallest", argmin(x, 1));
  const double nan = std::nan("");
  const Arrays inputs{{"x", {{f32, {3, 6}}, {1, 5, 5, 0, 0, 2, nan, 1, nan, 3, 4, 5, 7, 7, 7, 7, 7, 7}}}};
  EXPECT_EQ(compare(b.finish(), inputs).wrong, "");
}

TEST(KnownFaults, LargeIntegers) {
  Builder b("integers");
  const Expr x = b.input("x", {DType::int32, {7, 5, 9}}), y = b.input("y", {DType::int16, {3, 700}});
  b.output("sum", sum(x, {{1}}));
  b.output("rows", sum(x, {{-1}}));
  b.output("largest", max(x, {{0}, true}));
  b.output("smallest", min(x, {{1, 2}}));
  b.output("product", prod(x, {{2}}));
  b.output("where", argmax(x, 2));
  b.output("wide", sum(y, {{1}}));
  b.output("difference", x - 7);
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 5);
  double n = 1;
  for (double& e : inputs["x"].data) e = stored(DType::int32, n = std::fmod(n * 48271, 2147483647.0)) - 1e9;
  for (double& e : inputs["y"].data) e = 30000 - std::fabs(e);
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "");
  }
}

TEST(KnownFaults, NamesOfTheProgramAndOfTheCompiler) {
  Builder b("names");
  b.output("t0",
           b.input("t1", {f32, {3, 4}}) + b.constant({f32, {4}}, {1, 2, 3, 4}) * b.input("const0", {f32, {3, 4}}));
  expect_right(b);
}

TEST(KnownFaults, ManyDimensions) {
  Builder b("many");
  const Expr x = b.input("x", {f32, {2, 3, 2, 3, 2, 3, 2, 2}});
  b.output("turned", transpose(x, {7, 5, 3, 1, 6, 4, 2, 0}) + 1.0);
  b.output("sums", sum(x, {{1, 3, 5}}));
  expect_right(b);
}

}  // namespace
}  // namespace kiln::tensor
