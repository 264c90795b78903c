// Reductions of every choice of dimensions: leading, trailing, between, with what is computed before and after them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, i32 = DType::int32;
constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

std::string text_of(const Shape& shape, const Ints& axes) {
  return fmt::format("shape [{}] axes [{}]", fmt::join(shape, ", "), fmt::join(axes, ", "));
}

void expect_right(const Graph& graph, const CompileOptions& options, const std::string& what) {
  try {
    const Outcome out = compare(graph, 1, options);
    EXPECT_EQ(out.wrong, "") << what << "\n" << isa::print(out.compiled.program);
  } catch (const Error& e) {
    ADD_FAILURE() << what << "\n" << e.what();
  }
}

struct Case {
  Shape shape;
  Ints axes;
};
const Case kCases[] = {{{300, 70}, {0}},         {{2048, 33}, {0}},           {{1009, 20}, {0}},
                       {{8, 2048}, {0}},         {{3, 260, 40}, {1}},         {{2, 384, 3, 50}, {1}},
                       {{40, 130, 96}, {1}},     {{16, 24, 6, 6}, {0, 2, 3}}, {{5, 7, 9, 11}, {0, 2}},
                       {{130, 257}, {0, 1}},     {{64, 3, 33}, {0, 1}},       {{70000}, {0}},
                       {{2, 9, 1100}, {0, 1, 2}}};

TEST(Reductions, OfAnyDimensions) {
  for (const Case& c : kCases) {
    for (const Target target : kTargets) {
      Builder b("reductions");
      const Expr x = b.input("x", {f32, c.shape});
      b.output("total", sum(x, {c.axes, false}));
      b.output("largest", max(x, {c.axes, true}));
      expect_right(b.finish(), {.target = target}, text_of(c.shape, c.axes));
    }
  }
}

// What is computed before is computed where it is reduced, and once more where somebody else reads it.
TEST(Reductions, OfWhatIsComputed) {
  for (const Case& c : kCases) {
    Builder b("computed");
    const Expr x = b.input("x", {f32, c.shape}), z = b.input("z", {f32, {c.shape.back()}});
    const Expr d = square(x - z) * 0.5;
    b.output("mean", mean(d, {c.axes, false}));
    const Expr e = exp(x - max(x, {c.axes, true}));
    b.output("softmax", e / sum(e, {c.axes, true}));
    for (const int level : {1, 2}) expect_right(b.finish(), {.level = level}, text_of(c.shape, c.axes));
  }
}

TEST(Reductions, OfShortFloatsAndIntegers) {
  for (const Case& c : kCases) {
    Builder b("others");
    const Expr x = b.input("x", {bf16, c.shape}), n = b.input("n", {i32, c.shape});
    b.output("mean", mean(x, {c.axes, false}));
    b.output("least", min(n, {c.axes, false}));
    b.output("total", sum(n, {c.axes, true}));
    expect_right(b.finish(), {}, text_of(c.shape, c.axes));
  }
}

TEST(Reductions, VarianceAndPlacesOfColumns) {
  for (const Case& c : kCases) {
    Builder b("norm");
    const Expr x = b.input("x", {f32, c.shape});
    const Expr m = mean(x, {c.axes, true}), v = mean(square(x - m), {c.axes, true});
    b.output("norm", (x - m) * rsqrt(v + 1e-5));
    if (c.axes.size() == 1) b.output("place", argmax(x, c.axes[0]));
    expect_right(b.finish(), {}, text_of(c.shape, c.axes));
  }
}

// A loss is one region: what is squared and added up does not go through HBM.
TEST(Reductions, OfAllElementsReadTheirOperandsOnce) {
  Builder b("loss");
  const Type t{f32, {1024, 700}};
  b.output("loss", mean(square(b.input("x", t) - b.input("y", t)), {{0, 1}, false}));
  const Outcome out = compare(b.finish());
  EXPECT_EQ(out.wrong, "");
  double spilled = 0;
  for (const Spill& s : out.compiled.spills) spilled += s.bytes;
  EXPECT_LE(spilled, 16384);
}

// Vectors of a prime length lie on all partitions but for a few elements.
TEST(Reductions, OfOddLengths) {
  for (const Target target : kTargets) {
    for (const DType t : {f32, bf16, i32}) {
      Builder b("odd");
      const Expr x = b.input("x", {t, {16411}}), y = b.input("y", {t, {16411}});
      const Expr z = x * 2 - y;
      b.output("z", z);
      b.output("total", sum(z, {{0}, false}));
      b.output("largest", max(z, {{0}, true}));
      if (t != i32) b.output("mean", mean(z * z, {{0}, false})), b.output("dot", matmul(x, y));
      const Graph graph = b.finish();
      expect_right(graph, {.target = target}, "odd");
      EXPECT_LT(compare(graph, 1, {.target = target}).executed, 200);
    }
  }
}

// Products of rows with one column are sums on the vector engine, not rows that are turned for one column.
TEST(Reductions, OfProductsWithOneColumn) {
  for (const DType t : {f32, bf16}) {
    Builder b("columns");
    const Expr m = b.input("m", {t, {300, 700}}), v = b.input("v", {t, {700}});
    const Expr a = b.input("a", {t, {70, 1, 90}}), c = b.input("c", {t, {70, 90, 1}});
    const Expr d = b.input("d", {t, {9000}}), e = b.input("e", {t, {9000}});
    b.output("matrix", matmul(m, v));
    b.output("turned", matmul(transpose(b.input("w", {t, {700, 300}})), v));
    b.output("rows", matmul(a, c));
    b.output("dot", matmul(d, e));
    const Expr experts = b.input("experts", {t, {4, 60, 70}}), gates = b.input("gates", {t, {60, 4, 1}});
    b.output("weighted", matmul(transpose(experts, {1, 2, 0}), gates));
    expect_right(b.finish(), {}, "columns");
  }
}

// The squares of a batch norm are added up while they are on the chip.
TEST(Reductions, OfChannelsDoNotSpill) {
  Builder b("batch_norm");
  const Expr x = b.input("x", {f32, {16, 48, 14, 14}});
  const Ints axes{0, 2, 3};
  const Expr m = mean(x, {axes, true}), v = mean(square(x - m), {axes, true});
  b.output("out", (x - m) * rsqrt(v + 1e-5));
  const Outcome out = compare(b.finish());
  EXPECT_EQ(out.wrong, "");
  for (const Spill& s : out.compiled.spills) EXPECT_LT(s.bytes, 16 * 48 * 14 * 14) << s.what;
}

}  // namespace
}  // namespace kiln::tensor
