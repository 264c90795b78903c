// Sums of shifted slices times factors: channels last or first, borders, batches, images; and sums of several terms
// that two engines share.
#include <gtest/gtest.h>

#include <limits>

#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/candidates.h"
#include "kiln/tensor/passes/turn_taps.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};
constexpr DType kFloats[] = {DType::float32, DType::bfloat16};

void expect_right(const Graph& graph, const Arrays& inputs) {
  for (const Target target : kTargets) EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "") << print(graph);
}

Expr rows_of(const Expr& x, std::int64_t axis, std::int64_t first, std::int64_t n) {
  return slice(x, axis, first, first + n);
}

bool is_turned(const Graph& graph) {
  const Graph out = run_passes(graph).back().graph;
  return std::any_of(out.ops().begin(), out.ops().end(), [&](const Op& op) {
    return op.code == OpCode::transpose && out.type(op.operands[0]).size() > 10000;
  });
}

// Time x channels, with a border in front, a bias and a function behind, a gate beside.
Graph causal(DType t, std::int64_t n, std::int64_t channels, std::int64_t taps, bool borders, bool gated) {
  Builder b("causal");
  const Expr x = b.input("x", {t, {n, channels}}), w = b.input("w", {t, {taps, channels}});
  const Expr bias = b.input("bias", {t, {channels}});
  const Expr all = borders ? pad(x, {taps - 1, 0}, {0, 0}) : x;
  const std::int64_t out = borders ? n : n - taps + 1;
  Expr y = rows_of(w, 0, 0, 1) * rows_of(all, 0, 0, out) + 0.0;
  for (std::int64_t k = 1; k < taps; ++k) y = y + rows_of(all, 0, k, out) * rows_of(w, 0, k, 1);
  y = silu(y + bias);
  if (gated) y = y * b.input("gate", {t, {out, channels}});
  b.output("y", y);
  if (!borders) b.output("also", sum(y, {{0}}));
  return b.finish();
}

TEST(Taps, ChannelsLast) {
  for (const DType t : kFloats) {
    for (const bool borders : {true, false}) {
      for (const auto& [n, channels, taps] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
               {301, 200, 4}, {150, 96, 7}, {77, 131, 3}}) {
        const Graph graph = causal(t, n, channels, taps, borders, n == 150);
        EXPECT_TRUE(is_turned(graph));
        expect_right(graph, random_inputs(graph, 5));
      }
    }
  }
}

TEST(Taps, ImagesAndBatches) {
  for (const DType t : kFloats) {
    Builder b("images");
    const Expr x = b.input("x", {t, {15, 18, 70}}), w = b.input("w", {t, {3, 3, 70}});
    const Expr rows = b.input("rows", {t, {3, 80, 68}}), by = b.input("by", {t, {4, 68}});
    Expr y = 0.0, z = 0.0;
    for (std::int64_t i = 0; i < 9; ++i) {
      const Expr part = rows_of(rows_of(x, 0, i / 3, 13), 1, i % 3, 16);
      const Expr term = part * rows_of(rows_of(w, 0, i / 3, 1), 1, i % 3, 1);
      y = i == 0 ? term : y + term;
    }
    for (std::int64_t k = 0; k < 4; ++k) {
      const Expr term = rows_of(rows, 1, k, 77) * reshape(rows_of(by, 0, k, 1), {68});
      z = k == 0 ? term : z + term;
    }
    b.output("y", y);
    b.output("z", tanh(z));
    const Graph graph = b.finish();
    expect_right(graph, random_inputs(graph, 6));
  }
}

// A number that is none spoils what it is a term of, and nothing else.
TEST(Taps, NumbersThatAreNone) {
  const Graph graph = causal(DType::float32, 140, 130, 4, true, false);
  Arrays inputs = random_inputs(graph, 8, {0.1, 2});
  inputs["x"].data[17 * 130 + 3] = std::numeric_limits<double>::quiet_NaN();
  inputs["x"].data[139 * 130 + 129] = std::numeric_limits<double>::infinity();
  expect_right(graph, inputs);
}

// Terms of all kinds, on two engines whether that is quicker or not.
TEST(Taps, SharedTerms) {
  for (const DType t : kFloats) {
    for (const std::int64_t columns : {150, 1030}) {
      Builder b("terms");
      const Expr x = b.input("x", {t, {130, columns + 6}}), w = b.input("w", {t, {130, 7}}), c = b.input("c", {t, {7}});
      Expr y = 0.25 + rows_of(w, 1, 0, 1) * rows_of(x, 1, 0, columns);
      for (std::int64_t k = 1; k < 7; ++k) {
        const Expr part = rows_of(x, 1, k, columns);
        y = y + (k % 3 == 0 ? part * rows_of(c, 0, k, 1) : k % 3 == 1 ? part : part * rows_of(w, 1, k, 1) * 2.0);
      }
      b.output("y", y + square(rows_of(x, 1, 3, columns)));
      const Graph graph = b.finish();
      const Arrays inputs = random_inputs(graph, 4);
      for (const Target target : kTargets) {
        const CompileOptions options{.target = target};
        Choice choice;
        choice.region.terms_shared = true;
        auto made = make({run_passes(before_passes(graph, target), target).back().graph}, options, choice);
        ASSERT_TRUE(made.has_value());
        EXPECT_TRUE(errors_of(*made, options).empty());
        fill_constants(*made);
        EXPECT_EQ(compare(std::move(*made), graph, inputs).wrong, "");
      }
    }
  }
}

}  // namespace
}  // namespace kiln::tensor
