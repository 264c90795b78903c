// One row over many partitions: decode steps of several shapes, rows of odd lengths, and random one-row programs, each
// built that way whether it is quicker or not, equal the oracle on every chip.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/solve.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr Target kChips[] = {Target::trn1, Target::trn2, Target::trn3};
constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

// The program with its rows spread, in loops too unless said otherwise. `used`: something in it is.
Compiled spread(const Graph& graph, const CompileOptions& options, int how, bool* used = nullptr) {
  CompileOptions rules = options;
  rules.level = 1;
  const Solved solved = solve(graph, rules);
  Choice choice = solved.choice;
  choice.region.spread_rows = how;
  std::optional<Compiled> made = make(solved.cores, rules, choice);
  EXPECT_TRUE(made.has_value());
  if (used) *used = isa::print(made->program) != isa::print(solved.made.program);
  fill_constants(*made);
  return std::move(*made);
}

void expect_spread(const Graph& graph, const Arrays& inputs, CompileOptions options = {}) {
  for (Target target : kChips) {
    options.target = target;
    for (int how : {1, 2}) {
      bool used = false;
      const Outcome out = compare(spread(graph, options, how, &used), graph, inputs);
      EXPECT_EQ(out.wrong, "") << arch(target).name << " " << how << "\n"
                               << print(graph) << isa::print(out.compiled.program);
      EXPECT_TRUE(used || how == 1) << print(graph);
    }
    const Outcome best = compare(graph, inputs, options);
    EXPECT_EQ(best.wrong, "") << arch(target).name << "\n" << print(graph) << isa::print(best.compiled.program);
  }
}

struct Step {
  std::int64_t hidden = 256, heads = 4, groups = 1, depth = 64, cache = 640, inner = 384;
  DType dtype = bf16;
};

// A layer for one token: norms, projections, heads with norms and rotation, the cache, a gated FFN.
Graph decode_step(const Step& s) {
  Builder b("step");
  const Expr x = b.input("x", {s.dtype, {1, s.hidden}}), at = b.input("at", {DType::int32, {}});
  const auto matrix = [&](const char* name, std::int64_t k, std::int64_t n) {
    return b.input(name, {s.dtype, {k, n}}) * (1.0 / std::sqrt(static_cast<double>(k)));
  };
  const Expr h = rms_norm(x, b.input("gain", {s.dtype, {s.hidden}}));
  const auto turned = [&](const char* name) {
    return reshape(dynamic_slice(b.input(name, {f32, {s.cache, s.depth}}), at, 0, 1), {1, 1, s.depth});
  };
  const Expr c = turned("cos"), sine = turned("sin");
  const auto heads = [&](const char* name, std::int64_t n) {
    return reshape(matmul(h, b.input(name, {s.dtype, {s.hidden, n * s.depth}})), {1, n, s.depth});
  };
  const auto placed = [&](const Expr& e, const char* gain) {
    const Expr n = cast(rms_norm(e, b.input(gain, {s.dtype, {s.depth}})), f32);
    const std::vector<Expr> half = split(n, 2, -1);
    return cast(n * c + concat({-half[1], half[0]}, -1) * sine, s.dtype);
  };
  const Expr q = placed(heads("wq", s.heads), "q_gain"), k = placed(heads("wk", s.groups), "k_gain"),
             v = heads("wv", s.groups);
  const auto written = [&](const char* name, const Expr& e) {
    const Expr all =
        update_slice(b.input(name, {s.dtype, {s.cache, s.groups, s.depth}}), reshape(e, {1, s.groups, s.depth}), at, 0);
    b.output(std::string(name) + "_after", all);
    return transpose(all, {1, 0, 2});
  };
  const Expr keys = written("keys", k), values = written("values", v);
  const std::int64_t share = s.heads / s.groups;
  const Expr scores =
      matmul(reshape(q, {s.groups, share, s.depth}), transpose(keys)) * (1 / std::sqrt(static_cast<double>(s.depth)));
  const Expr seen = where(b.iota({DType::int32, {s.groups, share, s.cache}}, 2) <= at, scores, -30000.0);
  const Expr mixed = reshape(matmul(softmax(seen), values), {1, s.heads * s.depth});
  const Expr y = x + matmul(mixed, matrix("wo", s.heads * s.depth, s.hidden));
  const Expr z = rms_norm(y, b.input("gain2", {s.dtype, {s.hidden}}));
  const Expr gate = matmul(z, matrix("gate", s.hidden, s.inner)), up = matmul(z, matrix("up", s.hidden, s.inner));
  b.output("out", y + matmul(silu(gate) * up, matrix("down", s.inner, s.hidden)));
  return b.finish();
}

void expect_step(const Step& s) {
  const Graph graph = decode_step(s);
  Arrays inputs = random_inputs(graph, 3);
  inputs.at("at").data = {static_cast<double>(s.cache - 7)};
  expect_spread(graph, inputs, {.donated = {"keys", "values"}});
}

TEST(SpreadRows, DecodeOfOneGroup) { expect_step({}); }
TEST(SpreadRows, DecodeOfHeadsOf128) { expect_step({.hidden = 512, .heads = 2, .depth = 128, .cache = 512}); }
TEST(SpreadRows, DecodeOfTwoGroups) { expect_step({.heads = 4, .groups = 2}); }
TEST(SpreadRows, DecodeOfOddSizes) { expect_step({.hidden = 320, .heads = 3, .cache = 515, .inner = 200}); }
TEST(SpreadRows, DecodeOfLongRows) { expect_step({.hidden = 2048, .heads = 2, .cache = 512, .inner = 256}); }
TEST(SpreadRows, DecodeInFloat32) { expect_step({.hidden = 192, .heads = 2, .cache = 520, .dtype = f32}); }

// Rows of several lengths through norms, products and functions.
TEST(SpreadRows, Lengths) {
  for (DType t : {f32, bf16}) {
    for (std::int64_t n : {64, 100, 131, 192, 1024, 2304, 4096}) {
      for (std::int64_t m : {64, 128, 250, 384, 2048}) {
        if (n + m > 4200) continue;
        Builder b("row");
        const Expr x = b.input("x", {t, {1, n}});
        const Expr y = matmul(layer_norm(x, b.input("gain", {t, {n}}), b.input("bias", {t, {n}})),
                              b.input("w", {t, {n, m}}) * (1.0 / std::sqrt(static_cast<double>(n))));
        const Expr z = rms_norm(gelu(y + b.input("more", {t, {1, m}})), b.input("gain2", {t, {m}}));
        b.output("z", z);
        b.output("product", matmul(rms_norm(x, b.input("gain3", {t, {n}})), b.input("u", {t, {n, 64}})));
        b.output("total", sum(z * z, {{1}, true}));
        const Graph graph = b.finish();
        const Arrays inputs = random_inputs(graph, static_cast<unsigned>(n + m));
        for (Target target : kChips) {
          const Outcome out = compare(spread(graph, {.target = target}, 1), graph, inputs);
          ASSERT_EQ(out.wrong, "") << arch(target).name << "\n" << print(graph) << isa::print(out.compiled.program);
        }
      }
    }
  }
}

// A row that meets a matrix which does not lie in SBUF whole stays a row, beside another one that is spread.
TEST(SpreadRows, MatricesThatDoNotFit) {
  Builder b("large");
  const Expr x = b.input("x", {f32, {1, 1024}});
  b.output("long", matmul(x * b.input("gain", {f32, {1024}}), b.input("large", {f32, {1024, 2304}})));
  b.output("short", rms_norm(matmul(x, b.input("small", {f32, {1024, 256}})), b.input("gain2", {f32, {256}})));
  const Graph graph = b.finish();
  expect_spread(graph, random_inputs(graph, 8));
}

// What is no number in one column of a result stays there.
TEST(SpreadRows, NoNumbersStayWhereTheyAre) {
  for (std::int64_t n : {128, 2048}) {
    Builder b("columns");
    const Expr x = b.input("x", {bf16, {1, 256}}), w = b.input("w", {bf16, {256, n}});
    b.output("y", matmul(x * 2.0, w) + b.input("c", {bf16, {1, n}}));
    const Graph graph = b.finish();
    Arrays inputs = random_inputs(graph, 5);
    inputs.at("w").data[static_cast<std::size_t>(n + 17)] = std::numeric_limits<double>::quiet_NaN();
    inputs.at("c").data[40] = std::numeric_limits<double>::infinity();
    expect_spread(graph, inputs);
  }
}

// State of a loop that is a row: it stays on the chip, spread, and is found there behind the loop.
TEST(SpreadRows, StateOfALoop) {
  Builder b("experts");
  const Expr rows = b.input("rows", {bf16, {4, 256}}), which = b.input("which", {DType::int32, {4}});
  const Expr up = b.input("up", {bf16, {6, 256, 384}}), down = b.input("down", {bf16, {6, 192, 1024}});
  const Exprs out = scan({b.constant({f32, {1}}, {0})}, {rows, which}, {up, down},
                         [&](const Exprs& s, const Exprs& row, const Exprs& weights) {
                           const Expr e = reshape(row[1], {});
                           const auto chosen = [&](const Expr& table) {
                             return reshape(dynamic_slice(table, e, 0, 1), {table.shape()[1], table.shape()[2]});
                           };
                           const Expr h = matmul(reshape(row[0], {1, 256}), chosen(weights[0])) * 0.0625;
                           const Expr gated = silu(slice(h, 1, 0, 192)) * slice(h, 1, 192, 384);
                           return Exprs{s[0], reshape(cast(matmul(gated, chosen(weights[1])), f32), {1024})};
                         });
  b.output("y", cast(sum(out[1], {{0}, true}), bf16) + b.input("x", {bf16, {1, 1024}}));
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 6);
  inputs.at("which").data = {3, 0, 5, 3};
  expect_spread(graph, inputs);
}

// A row chooses its experts: what it is chosen by stays on one partition, what goes there is spread.
TEST(SpreadRows, ChosenExperts) {
  const std::int64_t H = 256, E = 16, C = 2, N = 64;
  Builder b("mixture");
  const Expr x = b.input("x", {bf16, {1, 512}});
  const Expr y = matmul(x, b.input("wo", {bf16, {512, H}}) * 0.05);
  const Expr z = rms_norm(y, b.input("gain", {bf16, {H}}));
  const Expr scores = softmax(cast(matmul(z, b.input("router", {bf16, {H, E}})), f32));
  const Expr best = top_k(scores, C), experts = top_k_indices(scores, C);
  const Expr rows = reshape(broadcast_to(reshape(z, {1, 1, H}), {1, C, H}), {C, H});
  const Expr up = b.input("up", {bf16, {E, H, 2 * N}}), down = b.input("down", {bf16, {E, N, H}});
  const Exprs out =
      scan({b.constant({f32, {1}}, {0})}, {rows, reshape(experts, {C}), reshape(best / sum(best, {{-1}, true}), {C})},
           {up, down}, [&](const Exprs& s, const Exprs& row, const Exprs& weights) {
             const Expr e = reshape(row[1], {});
             const auto chosen = [&](const Expr& table) {
               return reshape(dynamic_slice(table, e, 0, 1), {table.shape()[1], table.shape()[2]});
             };
             const Expr h = matmul(reshape(row[0], {1, H}), chosen(weights[0])) * 0.0625;
             const Expr gated = silu(slice(h, 1, 0, N)) * slice(h, 1, N, 2 * N);
             return Exprs{s[0], reshape(cast(matmul(gated, chosen(weights[1])), f32) * reshape(row[2], {1, 1}), {H})};
           });
  b.output("experts", experts);
  b.output("out", y + cast(sum(reshape(out[1], {1, C, H}), {{1}, false}), bf16));
  const Graph graph = b.finish();
  expect_spread(graph, random_inputs(graph, 9));
}

// Random programs of one row: heads, halves, norms, products.
Graph random_row(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> of) {
    return *(of.begin() + static_cast<std::ptrdiff_t>(random() % of.size()));
  };
  const DType t = random() % 3 ? bf16 : f32;
  Builder b(fmt::format("row{}", seed));
  int inputs = 0;
  const auto input = [&](Shape shape) { return b.input(fmt::format("i{}", inputs++), {t, std::move(shape)}); };
  Expr x = input({1, pick({64, 128, 192, 256, 384, 1000, 1024})});
  for (unsigned step = 0; step < 3 + random() % 6; ++step) {
    const std::int64_t n = x.shape().back();
    switch (random() % 7) {
      case 0:
        x = rms_norm(x, input({n}));
        break;
      case 1: {
        const std::int64_t m = pick({64, 96, 128, 256, 512, 768});
        x = matmul(x, input({n, m}) * (1.0 / std::sqrt(static_cast<double>(n))));
        break;
      }
      case 2:
        x = tanh(x) * input({1, n}) + 0.5;
        break;
      case 3: {
        const std::int64_t depth = n % 128 == 0 && random() % 2 ? 128 : 64;
        if (n % depth) break;
        const Expr heads = reshape(x, {1, n / depth, depth});
        const Expr normed = rms_norm(heads, input({depth}));
        const std::vector<Expr> half = split(normed, 2, -1);
        x = reshape(normed * input({1, 1, depth}) + concat({-half[1], half[0]}, -1), {1, n});
        break;
      }
      case 4:
        x = x + sum(x, {{1}, true}) * 0.01;
        break;
      case 5:
        x = n < 512 ? softmax(x) : exp(x * 0.1);
        break;
      default:
        x = n % 2 == 0 ? silu(slice(x, 1, 0, n / 2)) * slice(x, 1, n / 2, n) : sigmoid(x);
    }
    if (random() % 5 == 0) b.output(fmt::format("o{}", step), x);
  }
  b.output("out", x);
  return b.finish();
}

TEST(SpreadRows, Random) {
  const auto first = static_cast<unsigned>(test::seed() % 1'000'000'000);
  for (unsigned seed = first; seed < first + 60 && !HasFailure(); ++seed) {
    const Graph graph = random_row(seed);
    const Target target = kChips[seed % 3];
    const Outcome out = compare(spread(graph, {.target = target}, 1), graph, random_inputs(graph, seed));
    ASSERT_EQ(out.wrong, "") << "seed " << seed << " " << arch(target).name << "\n"
                             << print(graph) << isa::print(out.compiled.program);
  }
}

}  // namespace
}  // namespace kiln::tensor
