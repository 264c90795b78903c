// Chains of products of a few hundred rows whose matrices the tensor engine holds: which products that are, and that
// both ways give what the oracle says, whether the search takes them or not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/for_chip.h"
#include "kiln/tensor/passes/held_matrices.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

struct Chain {
  DType dtype;
  std::int64_t rows, summed, inner, columns;
  bool norm = false, gated = false, residual = false, turned = false;  // turned: matrices are given so
};

Graph chain_of(const Chain& c) {
  Builder b("chain");
  const Expr x = b.input("x", {c.dtype, {c.rows, c.summed}});
  const auto weights = [&](const std::string& name, std::int64_t from, std::int64_t to) {
    const Expr w = c.turned ? transpose(b.input(name, {c.dtype, {to, from}})) : b.input(name, {c.dtype, {from, to}});
    return std::pair(w, 1 / std::sqrt(static_cast<double>(from)));
  };
  const auto times = [&](const Expr& y, const std::pair<Expr, double>& w) { return matmul(y, w.first) * w.second; };
  const Expr y = c.norm ? rms_norm(x, b.input("gain", {c.dtype, {c.summed}})) : x;
  Expr h = tanh(times(y, weights("w1", c.summed, c.inner)) + b.input("bias", {c.dtype, {c.inner}}));
  if (c.gated) h = h * times(y, weights("w2", c.summed, c.inner));
  Expr out = times(h, weights("w3", c.inner, c.columns)) - b.input("shift", {c.dtype, {1, c.columns}});
  if (c.residual) out = out + x;
  b.output("out", out);
  return b.finish();
}

Graph ready(const Graph& graph, Target target) { return run_passes(for_chip(graph, arch(target))).back().graph; }

// Both ways, and with what is between products in SBUF or through HBM.
void expect_right(const Graph& graph, const Arrays& inputs, Target target) {
  for (const HeldMatrices which : {HeldMatrices::between, HeldMatrices::all}) {
    const std::optional<Graph> held = with_held_matrices(ready(graph, target), which);
    ASSERT_TRUE(held);
    for (const bool keeps : {true, false}) {
      Choice choice;
      choice.keeps_blocks = keeps;
      choice.region.psum_columns = keeps == (which == HeldMatrices::all) ? 2048 : 512;
      std::optional<Compiled> made = make({*held}, {.target = target}, choice);
      ASSERT_TRUE(made);
      const auto errors = errors_of(*made, {.target = target});
      ASSERT_TRUE(errors.empty()) << errors[0].found;
      fill_constants(*made);
      const Outcome outcome = compare(std::move(*made), graph, inputs);
      EXPECT_EQ(outcome.wrong, "") << arch(target).name << (keeps ? ", in SBUF" : ", through HBM");
    }
  }
}

class HeldProducts : public testing::TestWithParam<Chain> {};

TEST_P(HeldProducts, AreAsTheOracleSays) {
  const Graph graph = chain_of(GetParam());
  const Arrays inputs = random_inputs(graph, 1, {-1, 1});
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) expect_right(graph, inputs, target);
}

INSTANTIATE_TEST_SUITE_P(Chains, HeldProducts,
                         testing::Values(Chain{bf16, 300, 256, 257, 256}, Chain{f32, 129, 300, 256, 260},
                                         Chain{bf16, 520, 256, 256, 256, true, false, true},
                                         Chain{f32, 333, 256, 300, 256, true, true, true},
                                         Chain{bf16, 200, 256, 320, 256, false, true, false, true},
                                         Chain{f32, 700, 256, 256, 257}));

// Rows that are no numbers, or infinite, stay by themselves, and so does the sign of zeros.
TEST(HeldProductsOfAnything, KeepRowsApart) {
  const Graph graph = chain_of({f32, 300, 256, 256, 256});
  Arrays inputs = random_inputs(graph, 3, {-1, 1});
  std::vector<double>& x = inputs.at("x").data;
  for (std::int64_t k = 0; k < 256; ++k) {
    x[7 * 256 + k] = std::numeric_limits<double>::quiet_NaN();
    x[131 * 256 + k] = k == 3 ? std::numeric_limits<double>::infinity() : x[131 * 256 + k];
    x[299 * 256 + k] = -0.0;
  }
  for (const Target target : {Target::trn2, Target::trn3}) expect_right(graph, inputs, target);
}

// Random shapes, through the search.
TEST(HeldProductsAtRandom, AreAsTheOracleSays) {
  std::mt19937 random(test::seed());
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int i = 0; i < 3; ++i) {
    const Chain c{pick(0, 1) ? f32 : bf16, pick(129, 600),  pick(256, 300), pick(256, 400), pick(256, 300),
                  pick(0, 1) == 1,         pick(0, 1) == 1, false,          pick(0, 1) == 1};
    const Graph graph = chain_of(c);
    const CompileOptions options{.target = std::array{Target::trn1, Target::trn2, Target::trn3}[i % 3]};
    const Outcome outcome = compare(graph, random_inputs(graph, static_cast<unsigned>(i), {-1, 1}), options);
    EXPECT_EQ(outcome.wrong, "") << c.rows << " " << c.summed << " " << c.inner << " " << c.columns;
  }
}

// What is between products lies in SBUF, and neither is turned there nor copied.
TEST(HeldProductsInSbuf, AreNotTurned) {
  const Graph graph = chain_of({bf16, 300, 256, 384, 256});
  const std::optional<Graph> held = with_held_matrices(ready(graph, Target::trn2), HeldMatrices::between);
  ASSERT_TRUE(held);
  Choice kept;
  kept.keeps_blocks = true;
  const std::optional<Compiled> made = make({*held}, {}, kept);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->spills.empty()) << made->spills[0].what;
  const RegionReport& last = made->regions.back();
  for (std::int64_t i = 0; i < last.instructions; ++i)
    EXPECT_NE(made->program.instructions[last.first_instruction + i].opcode, isa::Opcode::nc_transpose);
}

TEST(HeldMatrices, AreOfChainsWithFewRows) {
  const auto turns = [](const Graph& g, HeldMatrices which) {
    return with_held_matrices(ready(g, Target::trn2), which).has_value();
  };
  const auto both = [&](const Chain& c) {
    return turns(chain_of(c), HeldMatrices::between) && turns(chain_of(c), HeldMatrices::all);
  };
  EXPECT_TRUE(both({bf16, 300, 256, 512, 256}));
  EXPECT_FALSE(both({bf16, 128, 256, 512, 256}));   // blocks that take as long to be held as all rows
  EXPECT_FALSE(both({bf16, 4096, 256, 512, 256}));  // which fill blocks anyway
  EXPECT_FALSE(both({bf16, 300, 64, 512, 256}));
  const auto alone = [&](std::int64_t rows, bool activated) {
    Builder b("alone");
    const Expr p = matmul(b.input("x", {bf16, {rows, 512}}), b.input("y", {bf16, {512, 1024}}));
    b.output("out", activated ? exp(p) : p);
    return b.finish();
  };
  EXPECT_TRUE(turns(alone(520, false), HeldMatrices::all));
  EXPECT_TRUE(turns(alone(520, true), HeldMatrices::all));
  EXPECT_FALSE(turns(alone(520, true), HeldMatrices::between));  // nobody reads what it gives
  EXPECT_FALSE(turns(alone(1000, false), HeldMatrices::all));    // blocks are nearly full
}

// A value that somebody else wants in rows stays as it is.
TEST(HeldMatrices, LeaveWhatOthersReadInRows) {
  Builder b("shared");
  const Expr h = tanh(matmul(b.input("x", {bf16, {300, 256}}), b.input("w1", {bf16, {256, 512}})));
  b.output("out", matmul(h, b.input("w2", {bf16, {512, 256}})));
  b.output("sums", sum(h, {.axes = {1}}));
  EXPECT_FALSE(with_held_matrices(ready(b.finish(), Target::trn2), HeldMatrices::between));
}

}  // namespace
}  // namespace kiln::tensor
