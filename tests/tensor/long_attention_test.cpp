// Attention over many keys: chunks with a running maximum, keys that a causal mask hides left out.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/for_chip.h"
#include "kiln/timing/simulate.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, f16 = DType::float16;

struct Case {
  DType dtype;
  std::int64_t heads, queries, keys, depth;
  std::optional<std::int64_t> ahead = {};  // a query sees the keys up to its own place plus this
  double mask = -30000;
  std::int64_t wide = 0;  // depth of the values when it is another one
};

Graph attention(const Case& c) {
  Builder b("attention");
  const Expr q = b.input("q", {c.dtype, {c.heads, c.queries, c.depth}});
  const Expr k = b.input("k", {c.dtype, {c.heads, c.keys, c.depth}});
  const Expr v = b.input("v", {c.dtype, {c.heads, c.keys, c.wide ? c.wide : c.depth}});
  Expr scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(c.depth)));
  if (c.ahead) {
    const Type ramp{DType::int32, {c.queries, c.keys}};
    scores = where(b.iota(ramp, 1) <= b.iota(ramp, 0) + static_cast<double>(*c.ahead), scores, c.mask);
  }
  b.output("out", matmul(softmax(scores), v));
  return b.finish();
}

void expect_right(const Graph& graph) {
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    for (int level : {1, 2}) {
      SCOPED_TRACE(arch(target).name);
      try {
        const Outcome out = compare(graph, 1, {.target = target, .level = level});
        EXPECT_EQ(out.wrong, "") << print(graph) << isa::print(out.compiled.program);
      } catch (const Error& e) {
        ADD_FAILURE() << e.what() << print(graph);
      }
    }
  }
}

TEST(Attention, LongRows) {
  for (const Case& c : {Case{f32, 2, 130, 600, 32}, {bf16, 1, 200, 1100, 64}, {f16, 1, 40, 2048, 16}})
    expect_right(attention(c));
}

TEST(Attention, Chunks) {
  for (const Case& c : {Case{f32, 1, 130, 2300, 16}, {bf16, 2, 64, 4096, 32}, {f32, 1, 10, 6200, 8}})
    expect_right(attention(c));
}

TEST(Attention, Causal) {
  for (const Case& c : {Case{f32, 1, 600, 600, 32, 0},
                        {bf16, 1, 640, 640, 64, 0, -INFINITY},
                        {bf16, 1, 300, 700, 64, 400},
                        {f32, 1, 200, 2500, 16, 2300}})
    expect_right(attention(c));
}

// Queries and keys that are enough for weights without the largest scores; ragged ones, and a sum beside the values or
// not.
TEST(Attention, Unshifted) {
  for (const Case& c : {Case{bf16, 1, 260, 520, 128}, {f32, 1, 660, 520, 8}, {f32, 1, 400, 900, 8, 130}})
    expect_right(attention(c));
  // Two chips less; many keys, in a loop.
  for (const Case& c :
       {Case{bf16, 1, 256, 6200, 8, {}, 0, 128}, {bf16, 1, 530, 530, 8, 0, -30000, 128}, {bf16, 1, 256, 6200, 8}}) {
    const Graph graph = attention(c);
    EXPECT_EQ(compare(graph, 1, {}).wrong, "") << print(graph);
  }
  EXPECT_NE(isa::print(compile(attention({bf16, 8, 2048, 2048, 128})).program).find("usually 0"), std::string::npos);
}

// Sums that are no numbers of a moderate size, or results that are none: everything again, with the largest scores.
TEST(Attention, ShiftedWhereNeeded) {
  const auto scaled = [](DType t, double scores, double values, bool low) {
    Builder b("attention");
    const Expr q = b.input("q", {t, {1, 260, 16}}), k = b.input("k", {t, {1, 520, 16}});
    const Expr v = b.input("v", {t, {1, 520, 16}});
    const Expr queries = low ? abs(q) : q, keys = low ? -abs(k) : k;
    b.output("out", matmul(softmax(matmul(queries, transpose(keys)) * scores), v * values));
    return b.finish();
  };
  const auto expect = [](const Graph& graph) {
    const Outcome out = compare(graph, 1, {});
    EXPECT_EQ(out.wrong, "") << print(graph);
    EXPECT_NE(isa::print(out.compiled.program).find("usually 0"), std::string::npos);
  };
  for (DType t : {f32, bf16}) {
    expect(scaled(t, 6, 1, true));        // rows with nothing but exp(-30) and less
    expect(scaled(t, 0.1, 1e36, false));  // values whose sums have no number
  }
  expect(scaled(bf16, 6, 1, false));  // exp(70) and more; float32 rounds scores of 100 to 1e-5 of their weight
}

// Scores that all queries of a group see are not masked, and what nobody sees is not computed.
TEST(Attention, HiddenKeysAreLeftOut) {
  const Graph all = attention({bf16, 1, 2048, 2048, 64}), causal = attention({bf16, 1, 2048, 2048, 64, 0});
  const Compiled a = compile(all), b = compile(causal);
  EXPECT_LT(b.time_ns, 0.75 * a.time_ns);
}

// Masks that a front end has computed by itself: of truth, of its opposite, and added. All are the causal mask.
TEST(Attention, ConstantMasks) {
  const std::int64_t n = 600;
  std::vector<double> seen, hidden, added;
  for (std::int64_t i = 0; i < n * n; ++i) {
    const bool sees = i % n <= i / n;
    seen.push_back(sees), hidden.push_back(!sees), added.push_back(sees ? 0 : -1e9);
  }
  const double least = compile(attention({f32, 2, n, n, 32, 0})).time_ns;
  for (int way : {0, 1, 2}) {
    Builder b("masked");
    const Type heads{f32, {2, n, 32}};
    const Expr q = b.input("q", heads), k = b.input("k", heads), v = b.input("v", heads);
    Expr scores = matmul(q, transpose(k)) * 0.2;
    if (way == 0) scores = where(b.constant({DType::bool_, {n, n}}, seen), scores, -1e9);
    if (way == 1) scores = where(b.constant({DType::bool_, {n, n}}, hidden), -1e9, scores);
    if (way == 2) scores = scores + b.constant({f32, {n, n}}, added);
    b.output("out", matmul(softmax(scores), v));
    const Outcome out = compare(b.finish());
    EXPECT_EQ(out.wrong, "") << way;
    EXPECT_TRUE(out.compiled.constants.empty()) << way;
    EXPECT_LT(out.compiled.time_ns, 1.02 * least) << way;
  }
}

// Every way to add up weights, also where the timing model would not choose it; a depth of 128 has no column of ones.
TEST(Attention, WaysToAddUpWeights) {
  struct Way {
    Case of;
    RegionOptions::WeightSums sums;
    std::int64_t key_blocks;
  };
  const Case plain{bf16, 1, 300, 640, 128}, causal{f32, 1, 512, 640, 128, 128}, narrow{bf16, 1, 260, 896, 64};
  using enum RegionOptions::WeightSums;
  const Case ragged{bf16, 1, 300, 700, 128}, window{bf16, 1, 700, 700, 128, 0};
  std::vector<Way> ways{{narrow, in_turn, 3}, {causal, held, 2}, {ragged, held, 2}, {window, held, 3}};
  for (RegionOptions::WeightSums sums : {in_turn, gpsimd, half, tensor, held}) {
    ways.push_back({plain, sums, 2}), ways.push_back({plain, sums, 3});
    ways.push_back({causal, sums, 2});
  }
  for (const Way& way : ways) {
    const Graph graph = attention(way.of);
    Choice choice;
    choice.region.weight_sums = way.sums, choice.region.key_blocks = way.key_blocks;
    auto made = make({run_passes(for_chip(graph, arch(Target::trn2))).back().graph}, {}, choice);
    ASSERT_TRUE(made.has_value());
    fill_constants(*made);
    const Outcome out = compare(std::move(*made), graph, random_inputs(graph, 1));
    EXPECT_EQ(out.wrong, "") << way.of.keys << " " << static_cast<int>(way.sums);
  }
}

// Without fast modes of the vector engine weights are held, and those that a mask hides are not.
TEST(Attention, HeldWeightsUnderAMask) {
  const auto time = [](std::optional<std::int64_t> ahead) {
    return compile(attention({bf16, 8, 2048, 2048, 128, ahead}), {.target = Target::trn1}).time_ns;
  };
  EXPECT_LT(time(0), 0.7 * time({}));
}

// What candidates are compared by is near what the whole program takes.
TEST(Attention, QuickTimesAreNear) {
  for (const Case& c : {Case{bf16, 8, 1024, 1024, 64}, {bf16, 1, 4096, 4096, 128}, {f32, 2, 2048, 700, 64}}) {
    const Compiled compiled = compile(attention(c));
    const double all =
        timing::to_ns(timing::simulate(isa::Launch(compiled.program), arch(Target::trn2), {.keep_events = 0}).total);
    EXPECT_NEAR(compiled.time_ns, all, 0.15 * all);
  }
}

// Queries that share keys: the partitions count queries, not pairs of head and query.
TEST(Attention, GroupedHeads) {
  Builder b("grouped");
  const Expr q = b.input("q", {bf16, {1, 4, 520, 32}});
  const auto shared = [&](const char* name) {
    const Expr x = b.input(name, {bf16, {1, 2, 1, 520, 32}});
    return reshape(broadcast_to(x, {1, 2, 2, 520, 32}), {1, 4, 520, 32});
  };
  const Expr k = shared("k"), v = shared("v");
  const Type ramp{DType::int32, {520, 520}};
  const Expr scores = where(b.iota(ramp, 1) <= b.iota(ramp, 0), matmul(q, transpose(k)) * 0.2, -1e9);
  b.output("out", matmul(softmax(scores), v));
  expect_right(b.finish());
}

}  // namespace
}  // namespace kiln::tensor
