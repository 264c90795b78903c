// Attention whose scores go through a function: biases, masks, caps, windows; with and without the largest scores.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/for_chip.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, f16 = DType::float16, i32 = DType::int32;

struct Sizes {
  DType dtype;
  std::int64_t heads, queries, keys, depth;
  bool rounds = false;  // weights, which a term of float32 makes float32, go back to the dtype
};
using Function = std::function<Expr(Builder&, const Expr&)>;

Graph attention_of(const Sizes& c, const Function& function) {
  Builder b("attention");
  const Expr q = b.input("q", {c.dtype, {c.heads, c.queries, c.depth}});
  const Expr k = b.input("k", {c.dtype, {c.heads, c.keys, c.depth}});
  const Expr v = b.input("v", {c.dtype, {c.heads, c.keys, c.depth}});
  const Expr scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(c.depth)));
  const Expr weights = softmax(function(b, scores));
  b.output("out", matmul(c.rounds ? cast(weights, c.dtype) : weights, v));
  return b.finish();
}

Function biased(const Shape& shape, DType t) {
  return [=](Builder& b, const Expr& s) { return s + b.input("bias", {t, shape}); };
}

Function capped(double most) {
  return [=](Builder&, const Expr& s) { return tanh(s * (1 / most)) * most; };
}

// Scores where a mask of truth, which bits of an input make, says so.
Function chosen(const Shape& shape) {
  return [=](Builder& b, const Expr& s) { return where(b.input("mask", {DType::bool_, shape}), s, -1e9); };
}

Expr seen_by(Builder& b, const Expr& s) {
  const Type ramp{i32, {s.shape()[1], s.shape()[2]}};
  return b.iota(ramp, 1) <= b.iota(ramp, 0);
}

Function causal(const Function& inner) {
  return [=](Builder& b, const Expr& s) { return where(seen_by(b, s), inner(b, s), -30000.0); };
}

void expect_right(const Graph& graph, bool unshifted = false) {
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    for (int level : {1, 2}) {
      if (level > 1 && target != Target::trn2) continue;
      SCOPED_TRACE(arch(target).name);
      try {
        const Outcome out = compare(graph, 1, {.target = target, .level = level});
        EXPECT_EQ(out.wrong, "") << print(graph);
        const bool twice = isa::print(out.compiled.program).find("usually 0") != std::string::npos;
        EXPECT_TRUE(twice || !unshifted || level > 1) << print(graph);
      } catch (const Error& e) {
        ADD_FAILURE() << e.what() << print(graph);
      }
    }
  }
}

TEST(ScoreFunction, Bias) {
  expect_right(attention_of({bf16, 2, 260, 520, 32}, biased({260, 520}, bf16)), true);
  expect_right(attention_of({bf16, 2, 300, 640, 128}, biased({2, 300, 640}, bf16)), true);
  expect_right(attention_of({f32, 2, 260, 530, 16}, biased({2, 260, 530}, f32)), true);
  expect_right(attention_of({f32, 2, 384, 520, 16}, biased({2, 384, 1}, f32)), true);
  expect_right(attention_of({bf16, 1, 256, 600, 64}, biased({256, 600}, f32)), true);
}

TEST(ScoreFunction, BiasPerKey) {
  expect_right(attention_of({bf16, 2, 260, 520, 128}, biased({2, 1, 520}, bf16)), true);
  expect_right(attention_of({f32, 1, 260, 700, 16}, biased({700}, f32)), true);
}

TEST(ScoreFunction, MaskOfTruth) {
  expect_right(attention_of({bf16, 2, 260, 520, 32}, chosen({260, 520})), true);
  expect_right(attention_of({f32, 2, 260, 640, 16}, chosen({2, 260, 640})), true);
  expect_right(attention_of({bf16, 2, 260, 520, 128}, chosen({2, 1, 520})), true);
}

TEST(ScoreFunction, Cap) {
  expect_right(attention_of({bf16, 1, 260, 520, 32}, capped(20)), true);
  expect_right(attention_of({f32, 1, 260, 520, 16}, capped(5)), true);
}

TEST(ScoreFunction, UnderACausalMask) {
  expect_right(attention_of({bf16, 1, 530, 530, 32}, causal(capped(20))), true);
  expect_right(attention_of({bf16, 2, 530, 640, 128}, causal(biased({530, 640}, bf16))), true);
  expect_right(attention_of({f32, 1, 300, 530, 16}, causal(biased({1, 530}, f32))), true);
}

Function windowed(std::int64_t ahead, std::int64_t back, const Function& inner = {}) {
  return [=](Builder& b, const Expr& s) {
    const Type ramp{i32, {s.shape()[1], s.shape()[2]}};
    const Expr row = b.iota(ramp, 0), column = b.iota(ramp, 1);
    const Expr seen =
        logical_and(column <= row + static_cast<double>(ahead), column >= row - static_cast<double>(back));
    return where(seen, inner ? inner(b, s) : s, -30000.0);
  };
}

TEST(ScoreFunction, Windows) {
  expect_right(attention_of({bf16, 1, 1300, 1300, 32}, windowed(0, 100)), true);
  expect_right(attention_of({bf16, 2, 700, 700, 128}, windowed(50, 130)), true);
  expect_right(attention_of({f32, 1, 400, 900, 16}, windowed(500, -300)), true);
  expect_right(attention_of({bf16, 1, 530, 640, 32}, windowed(0, 200, capped(20))), true);
  expect_right(attention_of({bf16, 1, 530, 640, 128}, windowed(0, 200, biased({530, 640}, bf16))), true);
  expect_right(attention_of({f16, 1, 300, 700, 32}, windowed(3, 77)));
  expect_right(attention_of({f32, 1, 200, 2600, 16}, windowed(2300, 10, capped(20))));
}

// However it is written; and what it hides is not computed.
TEST(ScoreFunction, HiddenKeysAreLeftOut) {
  const std::int64_t n = 2048, back = 200;
  const auto around = [=](Builder& b, const Expr& s) {
    const Type ramp{f32, {n, n}};
    return where(abs(b.iota(ramp, 0) - b.iota(ramp, 1)) <= static_cast<double>(back), s, -1e9);
  };
  std::vector<double> seen, added;
  for (std::int64_t i = 0; i < n * n; ++i) {
    const bool sees = i % n <= i / n && i % n >= i / n - back;
    seen.push_back(sees), added.push_back(sees ? 0 : -1e9);
  }
  const auto constant = [=](Builder& b, const Expr& s) {
    return where(b.constant({DType::bool_, {n, n}}, seen), s, -1e9);
  };
  const auto sum = [=](Builder& b, const Expr& s) { return s + b.constant({bf16, {n, n}}, added); };
  const Sizes sizes{bf16, 4, n, n, 64};
  const double all = compile(attention_of(sizes, [](Builder&, const Expr& s) { return s; })).time_ns;
  const double least = compile(attention_of(sizes, windowed(0, back))).time_ns;
  EXPECT_LT(least, 0.45 * all);
  EXPECT_LT(compile(attention_of(sizes, around)).time_ns, 0.55 * all);
  for (const Function& f : {Function(constant), Function(sum)}) {
    const Compiled compiled = compile(attention_of(sizes, f));
    EXPECT_TRUE(compiled.constants.empty());
    EXPECT_LT(compiled.time_ns, 1.05 * least);
  }
}

// A mask that is loaded whole, and one of which pieces are.
TEST(ScoreFunction, ManyKeys) {
  for (std::int64_t keys : {2300, 6200}) {
    const Graph graph = attention_of({bf16, 1, 256, keys, 16}, biased({256, keys}, bf16));
    EXPECT_EQ(compare(graph).wrong, "") << keys;
  }
  const Graph graph = attention_of({bf16, 1, 256, 6200, 16}, chosen({256, 6200}));
  EXPECT_EQ(compare(graph).wrong, "");
}

// A slope of each head times the distance between key and query.
TEST(ScoreFunction, Slopes) {
  const auto function = [](DType t, bool hidden) {
    return [=](Builder& b, const Expr& s) {
      const Type ramp{f32, {s.shape()[1], s.shape()[2]}};
      const Expr far = b.iota(ramp, 1) - b.iota(ramp, 0);
      const Expr biased = s + b.input("slopes", {t, {s.shape()[0], 1, 1}}) * far * 0.05;
      return hidden ? where(seen_by(b, s), biased, -1e9) : biased;
    };
  };
  expect_right(attention_of({f32, 2, 260, 520, 16}, function(f32, true)), true);
  expect_right(attention_of({bf16, 2, 260, 520, 32}, function(f32, false)));
  expect_right(attention_of({bf16, 2, 5, 900, 32}, function(f32, false)));
}

// Functions of a few steps, over operands of all forms.
TEST(ScoreFunction, Random) {
  std::mt19937_64 random(test::seed());
  const auto number = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const Target targets[] = {Target::trn1, Target::trn2, Target::trn3};
  const DType dtypes[] = {bf16, f32, f16};
  for (int i = 0; i < 12; ++i) {
    const Sizes c{dtypes[number(3)], 1 + number(2), number(2) ? 1 + number(40) : 256 + number(140), 512 + number(200),
                  number(2) ? 16 : 40};
    const auto step = [&](Builder& b, const Expr& s, int at) {
      const Shape full = s.shape();
      Shape some = full;
      for (std::int64_t& n : some) n = number(2) ? n : 1;
      const std::string name = "operand" + std::to_string(at);
      const DType t = number(2) ? c.dtype : f32;
      const Type ramp{f32, {full[1], full[2]}};
      switch (number(6)) {
        case 0:
          return s + b.input(name, {t, some});
        case 1:
          return s * b.input(name, {t, some});
        case 2:
          return tanh(s * 0.3) * 3.0;
        case 3:
          return where(b.input(name, {DType::bool_, some}), s, -50.0);  // with -1e4 float32 itself loses what is added
        case 4:
          return s + b.input(name, {t, {full[0], 1, 1}}) * (b.iota(ramp, 1) - b.iota(ramp, 0)) * 0.01;
        default:
          return maximum(s, b.input(name, {t, some})) - abs(s) * 0.1;
      }
    };
    const Graph graph = attention_of(c, [&](Builder& b, const Expr& s) {
      Expr out = s;
      for (int at = static_cast<int>(number(3)); at >= 0; --at) out = step(b, out, at);
      return out;
    });
    const CompileOptions options{.target = targets[number(3)], .level = 1 + static_cast<int>(number(2))};
    try {
      EXPECT_EQ(compare(graph, 1, options).wrong, "") << print(graph) << arch(options.target).name << options.level;
    } catch (const Error& e) {
      ADD_FAILURE() << e.what() << print(graph);
    }
  }
}

// The program that a choice gives, also where the timing model takes another one.
Outcome outcome_of(const Graph& graph, Target target, const std::function<void(RegionOptions&)>& change,
                   const Arrays& inputs) {
  Choice choice;
  change(choice.region);
  const CompileOptions options{.target = target};
  auto made = make({run_passes(for_chip(graph, arch(target))).back().graph}, options, choice);
  EXPECT_TRUE(made.has_value());
  EXPECT_TRUE(errors_of(*made, options).empty());
  fill_constants(*made);
  return compare(std::move(*made), graph, inputs);
}

// A bias or a mask that all heads share: some of it is added by the tensor engine, where the first head loads it or all
// of it is there before.
TEST(ScoreFunction, TermsAdded) {
  const auto add = [](RegionOptions& o) { o.terms_added = true; };
  const auto add_alone = [](RegionOptions& o) { o.terms_added = true, o.whole = false; };  // nothing behind it
  const auto with = [](double factor, const Function& inner) {
    return [=](Builder& b, const Expr& s) { return inner(b, s) * factor; };
  };
  for (const Target target : {Target::trn1, Target::trn2}) {
    for (const auto& [sizes, function] : {
             std::pair<Sizes, Function>{{bf16, 2, 300, 2100, 128}, biased({300, 2100}, bf16)},
             {{bf16, 2, 384, 2048, 64}, biased({384, 2048}, bf16)},
             {{bf16, 2, 260, 2300, 128}, chosen({260, 2300})},
             {{bf16, 1, 640, 2048, 128}, causal(biased({640, 2048}, bf16))},
             {{bf16, 2, 260, 2048, 64}, with(0.7, biased({260, 2048}, bf16))},
             {{bf16, 2, 300, 2100, 128}, biased({300, 2100}, f32)},
         }) {
      const Graph graph = attention_of(sizes, function);
      EXPECT_EQ(outcome_of(graph, target, add_alone, random_inputs(graph, 1)).wrong, "") << print(graph);
    }
  }
  // What is infinite hides keys, or is the largest; what is no number spoils its own row.
  for (const DType t : {bf16, f32}) {
    const Graph graph = attention_of({bf16, 1, 260, 2048, 128}, biased({260, 2048}, t));
    Arrays inputs = random_inputs(graph, 1);
    for (const double strange : {-HUGE_VAL, HUGE_VAL, std::nan("")}) {
      std::vector<double>& bias = inputs.find("bias")->second.data;
      for (std::int64_t i : {3, 600, 1000, 2000}) bias[7 * 2048 + i] = strange;
      EXPECT_EQ(outcome_of(graph, Target::trn2, add, inputs).wrong, "") << strange;
    }
  }
}

// What is too large is held for some queries at a time.
TEST(ScoreFunction, TermsInParts) {
  const auto add_alone = [](RegionOptions& o) { o.terms_added = true, o.whole = false; };
  for (const auto& [target, sizes, function] : {
           std::tuple<Target, Sizes, Function>{
               Target::trn1, {bf16, 2, 1100, 4096, 32, true}, biased({1100, 4096}, f32)},
           {Target::trn2, {bf16, 2, 1030, 4096, 32}, causal(biased({1030, 4096}, f32))},
           {Target::trn2, {bf16, 2, 1200, 4096, 32}, biased({1200, 4096}, bf16)},
           {Target::trn2, {bf16, 2, 1200, 4000, 32}, chosen({1200, 4000})},
       }) {
    const Graph graph = attention_of(sizes, function);
    EXPECT_EQ(outcome_of(graph, target, add_alone, random_inputs(graph, 1)).wrong, "") << print(graph);
  }
}

// Engines that share what there is to add, and weights that are held: near the time of scores as they are.
TEST(ScoreFunction, TimeOfTerms) {
  const Sizes sizes{bf16, 8, 2048, 2048, 128};
  const double plain = compile(attention_of(sizes, [](Builder&, const Expr& s) { return s; })).time_ns;
  EXPECT_LT(compile(attention_of(sizes, biased({2048, 2048}, bf16))).time_ns, 1.25 * plain);
  EXPECT_LT(compile(attention_of(sizes, chosen({2048, 2048}))).time_ns, 1.3 * plain);
  EXPECT_LT(compile(attention_of({bf16, 8, 2048, 2048, 128, true}, biased({2048, 2048}, f32))).time_ns, 1.45 * plain);
  EXPECT_LT(compile(attention_of(sizes, biased({2048, 2048}, f32))).time_ns, 2.9 * plain);  // weights have 32 bits
  EXPECT_LT(compile(attention_of(sizes, windowed(0, 255))).time_ns, 0.4 * plain);
}

// Two heads of few queries in one order, the values of several blocks of keys together.
TEST(ScoreFunction, FewQueriesBeside) {
  const auto beside = [](RegionOptions& o) { o.few_beside = true; };
  const auto plain = [](Builder&, const Expr& s) { return s; };
  for (const auto& [sizes, function] : {
           std::pair<Sizes, Function>{{bf16, 4, 1, 2048, 128}, biased({4, 1, 2048}, bf16)},
           {{bf16, 2, 5, 1536, 128}, plain},
           {{f32, 2, 4, 1100, 64}, biased({1, 1100}, f32)},
           {{bf16, 6, 3, 1091, 64}, plain},
           {{bf16, 2, 32, 1024, 32}, chosen({32, 1024})},
           {{f32, 2, 1, 1091, 64}, plain},
       }) {
    const Graph graph = attention_of(sizes, function);
    Arrays inputs = random_inputs(graph, 1);
    EXPECT_EQ(outcome_of(graph, Target::trn2, beside, inputs).wrong, "") << print(graph);
    EXPECT_EQ(outcome_of(graph, Target::trn1, beside, inputs).wrong, "") << print(graph);
    inputs.find("v")->second.data[5] = INFINITY;  // of one element of the result
    EXPECT_EQ(outcome_of(graph, Target::trn2, beside, inputs).wrong, "") << print(graph);
  }
}

// Few queries, and float16: with the largest scores, whole rows or chunks.
TEST(ScoreFunction, Shifted) {
  expect_right(attention_of({bf16, 2, 40, 2400, 32}, biased({40, 2400}, bf16)));
  expect_right(attention_of({f32, 1, 130, 600, 32}, capped(20)));
  expect_right(attention_of({f16, 1, 260, 600, 32}, causal(biased({260, 1}, f16))));
  expect_right(attention_of({bf16, 1, 8, 3000, 64}, biased({1, 3000}, f32)));
  expect_right(attention_of({f32, 1, 130, 2300, 16}, chosen({130, 2300})));
}

// Rows that see nothing, and scores far from 0: everything again, with the largest scores.
TEST(ScoreFunction, ShiftedWhereNeeded) {
  const auto far = [](double plus) {
    return [=](Builder& b, const Expr& s) { return s + b.input("bias", {f32, {260, 520}}) * 10.0 + plus; };
  };
  for (double plus : {200.0, -200.0}) {
    const Outcome out = compare(attention_of({f32, 1, 260, 520, 16}, far(plus)), 1, {.level = 1});
    EXPECT_EQ(out.wrong, "") << plus;
    EXPECT_NE(isa::print(out.compiled.program).find("usually 0"), std::string::npos);
  }
  const Function nothing = [](Builder& b, const Expr& s) {
    return where(b.input("x", {f32, {260, 1}}) > 0.0, s, -30000.0);
  };
  EXPECT_EQ(compare(attention_of({f32, 1, 260, 520, 16}, nothing), 1, {.level = 1}).wrong, "");
}

}  // namespace
}  // namespace kiln::tensor
