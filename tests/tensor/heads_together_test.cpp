// Attention of several heads in one pass: few keys, odd numbers of tokens, heads in every order, masks, biases per key,
// keys that heads share; scores for which it does not hold, and results that are no numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/quick_time.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/fuse.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

struct Heads {
  DType dtype;
  std::int64_t heads, queries, keys, depth;
  std::int64_t wide = 0;  // depth of the values when it is another one
  bool merged = false;    // tokens in front of heads
  bool causal = false;
  bool biased = false;  // one number for each key
  std::int64_t batch = 1;
  std::int64_t share = 1;  // heads with the same keys
  // Dimensions in front of the queries and keys of a term for each pair: all heads have the same, or each its own.
  Shape paired = {};
  bool truth = false;  // such a term, or the one for each key, is a mask of truth
};

Graph attention_of(const Heads& c) {
  Builder b("attention");
  const std::int64_t wide = c.wide ? c.wide : c.depth;
  const auto input = [&](const std::string& name, std::int64_t heads, std::int64_t tokens, std::int64_t depth) {
    if (!c.merged) return b.input(name, {c.dtype, {c.batch, heads, tokens, depth}});
    return transpose(
        reshape(b.input(name, {c.dtype, {c.batch, tokens, heads * depth}}), {c.batch, tokens, heads, depth}),
        {0, 2, 1, 3});
  };
  const Expr q = input("q", c.heads, c.queries, c.depth);
  const auto keys = [&](const std::string& name, std::int64_t depth) {
    const Expr x = input(name, c.heads / c.share, c.keys, depth);
    if (c.share == 1) return x;
    const Expr apart = reshape(x, {c.batch, c.heads / c.share, 1, c.keys, depth});
    return reshape(broadcast_to(apart, {c.batch, c.heads / c.share, c.share, c.keys, depth}),
                   {c.batch, c.heads, c.keys, depth});
  };
  const Expr k = keys("k", c.depth), v = keys("v", wide);
  Expr scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(c.depth)));
  const auto hidden = [&](const Shape& shape) { return where(b.input("seen", {DType::bool_, shape}), scores, -1e9); };
  if (c.biased) scores = c.truth ? hidden({c.batch, 1, 1, c.keys}) : scores + b.input("bias", {c.dtype, {c.keys}});
  if (!c.paired.empty()) {
    Shape shape = c.paired;
    shape.insert(shape.end(), {c.queries, c.keys});
    scores = c.truth ? hidden(shape) : scores + b.input("pairs", {c.dtype, shape});
  }
  if (c.causal) {
    const Type ramp{DType::int32, {c.queries, c.keys}};
    scores = where(b.iota(ramp, 1) <= b.iota(ramp, 0), scores, -30000.0);
  }
  const Expr out = matmul(softmax(scores), v);
  if (!c.merged)
    b.output("out", out);
  else
    b.output("out", reshape(transpose(out, {0, 2, 1, 3}), {c.batch, c.queries, c.heads * wide}));
  return b.finish();
}

// One loop over the heads, and what usually does not run.
bool goes_together(const Compiled& compiled) {
  const std::string text = isa::print(compiled.program);
  return text.find("usually 0") != std::string::npos && text.find("reciprocal(") != std::string::npos;
}

void expect_right(const Heads& c, const InputOptions& inputs = {}) {
  const Graph graph = attention_of(c);
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    for (int level : {1, 2}) {
      SCOPED_TRACE(arch(target).name);
      try {
        const Outcome out = compare(graph, 1, {.target = target, .level = level}, inputs);
        EXPECT_EQ(out.wrong, "") << print(graph) << isa::print(out.compiled.program);
        EXPECT_TRUE(level > 1 || goes_together(out.compiled)) << print(graph);
      } catch (const Error& e) {
        ADD_FAILURE() << e.what() << print(graph);
      }
    }
  }
}

TEST(HeadsTogether, OddTokens) {
  for (DType t : {bf16, f32}) {
    expect_right({t, 4, 197, 197, 64});
    expect_right({t, 3, 50, 50, 64});
    expect_right({t, 5, 77, 131, 40});
    expect_right({t, 2, 300, 257, 32, 48});
    expect_right({t, 6, 129, 2, 16});
  }
}

TEST(HeadsTogether, ManyQueries) {
  expect_right({bf16, 2, 1300, 77, 40});
  expect_right({f32, 1, 1027, 33, 96, 128});
}

TEST(HeadsTogether, MergedHeads) {
  for (DType t : {bf16, f32}) {
    expect_right({t, 4, 197, 197, 64, 0, true});
    expect_right({t, 3, 60, 49, 32, 0, true, false, false, 4});
    expect_right({t, 2, 100, 100, 128, 0, true, false, false, 2});
  }
}

TEST(HeadsTogether, Masks) {
  for (DType t : {bf16, f32}) {
    expect_right({t, 4, 77, 77, 64, 0, true, true});
    expect_right({t, 2, 200, 200, 32, 0, false, true});
    expect_right({t, 4, 130, 150, 64, 0, true, false, true});
    expect_right({t, 2, 90, 64, 64, 0, false, true, true, 2});
  }
}

TEST(HeadsTogether, SharedKeys) {
  for (DType t : {bf16, f32}) {
    expect_right({t, 8, 128, 128, 64, 0, true, true, false, 1, 4});
    expect_right({t, 4, 99, 140, 32, 0, false, false, false, 2, 4});
  }
}

// Tokens of several heads on partitions beside each other: heads of the innermost loop, or of the one around it, which
// lie one after the other in HBM or do not.
TEST(HeadsTogether, SideBySide) {
  for (DType t : {bf16, f32}) {
    expect_right({t, 12, 50, 50, 64, 0, false, false, false, 2});
    expect_right({t, 3, 49, 49, 32, 0, true, false, false, 4});
    expect_right({t, 3, 49, 49, 32, 0, false, true, false, 6});
    expect_right({t, 4, 16, 30, 24, 40, false, false, true, 3});
    expect_right({t, 8, 33, 21, 64, 0, true, true, true, 2, 4});
    expect_right({t, 5, 60, 60, 32, 0, false, false, true, 4});
  }
  expect_right({bf16, 4, 40, 50, 64, 0, true}, {.low = -9, .high = 9});
}

// Half as many products as one head after the other: two of them share each.
TEST(HeadsTogether, SideBySideIsQuicker) {
  const Graph graph = attention_of({f32, 12, 50, 50, 64, 0, false, false, false, 8});
  const CompileOptions options{.target = Target::trn2, .level = 1};
  const Solved solved = solve(graph, options);
  Choice alone = solved.choice;
  alone.region.heads_together = 1 | 8;
  const std::optional<Compiled> made = make(solved.cores, options, alone);
  ASSERT_TRUE(made);
  EXPECT_LT(quick_time_ns(solved.made.launch()), 0.8 * quick_time_ns(made->launch()));
}

// Biases and masks of truth with a place for each pair of a query and a key.
TEST(HeadsTogether, TermsOfPairs) {
  const auto with = [](Heads c, Shape paired, bool truth) {
    c.paired = std::move(paired), c.truth = truth;
    return c;
  };
  for (DType t : {bf16, f32}) {
    for (const bool truth : {false, true}) {
      expect_right(with({t, 3, 49, 49, 32, 0, true, false, false, 4}, {3}, truth));
      expect_right(with({t, 3, 49, 49, 32, 0, false, false, false, 4}, {4, 1}, truth));
      expect_right(with({t, 4, 130, 150, 64, 0, true, false, false, 2}, {4}, truth));
      expect_right(with({t, 4, 90, 200, 64, 0, false, false, false, 2}, {2, 1}, truth));
      expect_right(with({t, 2, 197, 131, 40, 0, false, false, false, 3}, {3, 2}, truth));
    }
    expect_right(with({t, 6, 40, 60, 64, 0, false, false, true, 2}, {}, true));
    expect_right(with({t, 4, 128, 128, 64, 0, false, true, true, 2}, {4}, false));
  }
}

// A query that sees no key, and one that an infinite bias lets see one alone.
TEST(HeadsTogether, HiddenKeys) {
  for (const bool truth : {false, true}) {
    Heads c{f32, 3, 20, 24, 32, 0, false, false, false, 4};
    c.paired = {3}, c.truth = truth;
    const Graph graph = attention_of(c);
    Arrays inputs = random_inputs(graph, 1);
    std::vector<double>& terms = inputs.at(truth ? "seen" : "pairs").data;
    const double hidden = truth ? 0 : -std::numeric_limits<double>::infinity();
    for (std::int64_t k = 1; k < c.keys; ++k) terms[5 * c.keys + k] = hidden;
    if (truth) std::fill_n(terms.begin() + 7 * c.keys, c.keys, hidden);
    for (Target target : {Target::trn1, Target::trn2, Target::trn3})
      EXPECT_EQ(compare(graph, inputs, {.target = target, .level = 1}).wrong, "") << arch(target).name;
  }
}

// One query of each head has few rows. What meets it is not computed with as few, which would not fit.
TEST(HeadsTogether, OneQuery) {
  const Graph graph = attention_of({bf16, 16, 1, 500, 64, 0, false, false, false, 8});
  const Outcome out = compare(graph, 1, {.target = Target::trn2, .level = 1});
  EXPECT_EQ(out.wrong, "");
  EXPECT_LE(out.compiled.regions.size(), 8u);
}

// Queries with a norm are computed before the heads go together, where that is quicker.
TEST(HeadsTogether, PreparedQueries) {
  for (DType t : {bf16, f32}) {
    Builder b("normed");
    const auto input = [&](const std::string& name) { return b.input(name, {t, {6, 4, 64, 32}}); };
    const auto normed = [](const Expr& x) { return x / sqrt(sum(x * x, {{3}, true}) + 1e-6); };
    const Expr q = normed(input("q")), k = normed(input("k")), v = input("v");
    b.output("out", matmul(softmax(matmul(q, transpose(k)) * 8.0), v));
    const Graph graph = b.finish();
    for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
      const Outcome out = compare(graph, 1, {.target = target, .level = 2});
      EXPECT_EQ(out.wrong, "") << print(graph);
      EXPECT_TRUE(goes_together(out.compiled)) << arch(target).name;
      const CompileOptions options{.target = target, .level = 1};
      EXPECT_LT(out.compiled.time_ns, 0.5 * quick_time_ns(compile(graph, options).launch()));
    }
  }
}

// The same with options of its region that others would be better for, and operands loaded in both ways.
void expect_right_with(const std::function<void(RegionOptions&)>& change, const Heads& c, const InputOptions& inputs) {
  const Graph graph = attention_of(c);
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    SCOPED_TRACE(arch(target).name);
    const CompileOptions options{.target = target, .level = 1};
    const Solved solved = solve(graph, options);
    for (const bool turned : {false, true}) {
      Choice choice = solved.choice;
      change(choice.region);
      choice.region.loads_turned = turned;
      std::optional<Compiled> made = make(solved.cores, options, choice);
      ASSERT_TRUE(made);
      EXPECT_TRUE(errors_of(*made, options).empty()) << print(graph);
      fill_constants(*made);
      EXPECT_TRUE(goes_together(*made));
      const Outcome out = compare(std::move(*made), graph, random_inputs(graph, 1, inputs));
      EXPECT_EQ(out.wrong, "") << print(graph) << isa::print(out.compiled.program);
    }
  }
}

void expect_right_with_values_held(const Heads& c, const InputOptions& inputs = {}) {
  const auto held = [](RegionOptions& o) {
    o.heads_together = 2;
    o.holds_values = true;
  };
  expect_right_with(held, c, inputs);
}

TEST(HeadsTogether, HeldValues) {
  for (DType t : {bf16, f32}) {
    expect_right_with_values_held({t, 4, 197, 197, 64});
    expect_right_with_values_held({t, 2, 300, 257, 32, 48});
    expect_right_with_values_held({t, 4, 259, 391, 64, 0, true});
    expect_right_with_values_held({t, 3, 130, 150, 40, 127, false, false, true, 2});
    expect_right_with_values_held({t, 4, 200, 200, 32, 0, true, true});
    expect_right_with_values_held({t, 4, 99, 140, 64, 0, false, false, false, 2, 4});
  }
  expect_right_with_values_held({bf16, 1, 1100, 140, 32});
  expect_right_with_values_held({f32, 2, 40, 50, 64}, {.low = -9, .high = 9});
}

// One head after the other, of which the results of a group of queries are stored at once.
TEST(HeadsTogether, StoredTogether) {
  const auto expect_stored = [](const Heads& c) {
    const auto together = [](RegionOptions& o) {
      o.heads_together = 0;
      o.stores_together = true;
    };
    expect_right_with(together, c, {});
  };
  for (DType t : {bf16, f32}) {
    expect_stored({t, 2, 300, 520, 64});
    expect_stored({t, 2, 393, 520, 32, 0, true, true});
  }
  expect_stored({bf16, 1, 384, 640, 128});
}

// Scores that exp(scores) has no room for are computed again with the largest ones.
TEST(HeadsTogether, LargeScores) {
  expect_right({f32, 2, 40, 50, 64}, {.low = -9, .high = 9});
  expect_right({bf16, 3, 197, 130, 32, 0, true, false, true}, {.low = -12, .high = 12});
}

// So are results that are no numbers although the weights are.
TEST(HeadsTogether, LargeValues) {
  const Graph graph = attention_of({f32, 2, 30, 40, 16, 0, false, false, true});
  Arrays inputs = random_inputs(graph, 1);
  for (double& x : inputs.at("v").data) x = static_cast<float>(x * 1e34);
  std::fill(inputs.at("bias").data.begin(), inputs.at("bias").data.end(), 20.0);  // which cancels
  for (Target target : {Target::trn1, Target::trn2, Target::trn3})
    EXPECT_EQ(compare(graph, inputs, {.target = target, .level = 1}).wrong, "");
}

// Merged heads that a product reads lie in HBM as it reads them.
TEST(HeadsTogether, StoredAsRead) {
  for (DType t : {bf16, f32}) {
    for (std::int64_t tokens : {77, 197}) {
      Builder b("projected");
      const auto split = [&](const Expr& x) { return transpose(reshape(x, {tokens, 4, 32}), {1, 0, 2}); };
      const Expr x = b.input("x", {t, {tokens, 128}}), w = b.input("w", {t, {128, 96}});
      const Expr q = split(x), k = split(b.input("k", {t, {tokens, 128}})), v = split(b.input("v", {t, {tokens, 128}}));
      const Expr heads = matmul(softmax(matmul(q, transpose(k)) * 0.17), v);
      b.output("y", matmul(reshape(transpose(heads, {1, 0, 2}), {tokens, 128}), w));
      const Graph graph = b.finish();
      const Fusion fusion = fuse(run_passes(graph).back().graph);
      EXPECT_EQ(fusion.orders.size(), 1u) << print(graph);
      for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
        for (int level : {1, 2}) EXPECT_EQ(compare(graph, 1, {.target = target, .level = level}).wrong, "");
      }
    }
  }
}

// Matrices of 16 bits that meet float32 are converted by the DMAs that load them.
TEST(HeadsTogether, ConvertedMatrices) {
  for (std::int64_t rows : {1, 77, 300}) {
    Builder b("mixed");
    const Expr x = b.input("x", {f32, {rows, 200}}), w = b.input("w", {bf16, {200, 130}});
    const Expr u = b.input("u", {bf16, {90, 130}});
    b.output("y", matmul(tanh(matmul(x, w)), transpose(u)));
    const Graph graph = b.finish();
    for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
      for (int level : {1, 2}) {
        const Outcome out = compare(graph, 1, {.target = target, .level = level});
        EXPECT_EQ(out.wrong, "") << print(graph);
        for (const Spill& s : out.compiled.spills) EXPECT_EQ(s.what.find("[200, 130]"), std::string::npos) << s.what;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::tensor
