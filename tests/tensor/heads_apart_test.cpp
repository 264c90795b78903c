// Results of products that are given in another order than that of their rows, such as heads apart: regions write them
// where they belong, or they are put in order at the end.
#include <gtest/gtest.h>

#include <limits>

#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/for_chip.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

Expr heads(const Expr& x, std::int64_t count) {
  const std::int64_t tokens = x.shape()[0], wide = x.shape()[1];
  return transpose(reshape(x, {tokens, count, wide / count}), {1, 0, 2});
}

struct Heads {
  DType dtype;
  std::int64_t tokens, summed, count, depth;
};

Graph queries_and_keys(const Heads& h) {
  Builder b("heads");
  const Expr x = b.input("x", {h.dtype, {h.tokens, h.summed}});
  const auto product = [&](const std::string& name) {
    return matmul(x, b.input(name, {h.dtype, {h.summed, h.count * h.depth}}));
  };
  const Expr q = product("wq") + b.input("bias", {h.dtype, {h.count * h.depth}}), k = tanh(product("wk"));
  b.output("q", heads(q, h.count));
  b.output("k", heads(k, h.count));
  b.output("rows", k);  // also as it is
  b.output("turned", transpose(heads(product("wv"), h.count), {0, 2, 1}));
  b.output("positive", heads(q > 0.0, h.count));
  return b.finish();
}

class HeadsApart : public testing::TestWithParam<Heads> {};

TEST_P(HeadsApart, AreAsTheOracleSays) {
  const Graph graph = queries_and_keys(GetParam());
  Arrays inputs = random_inputs(graph, 1, {-1, 1});
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "") << arch(target).name;
    EXPECT_EQ(compare(graph, inputs, {.target = target, .level = 1}).wrong, "") << arch(target).name;
  }
  inputs.at("x").data[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(compare(graph, inputs).wrong, "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, HeadsApart,
                         testing::Values(Heads{bf16, 256, 128, 4, 64}, Heads{f32, 77, 96, 3, 32},
                                         Heads{bf16, 333, 130, 2, 80}, Heads{f32, 1, 64, 4, 16},
                                         Heads{f32, 130, 64, 1, 64}));

// What a region writes in place does not go through HBM.
TEST(HeadsApartOfOneProduct, AreWrittenAtOnce) {
  Builder b("heads");
  b.output("q", heads(matmul(b.input("x", {bf16, {300, 256}}), b.input("w", {bf16, {256, 512}})), 8));
  const std::vector<Graph> graphs{run_passes(for_chip(b.finish(), arch(Target::trn2))).back().graph};
  const std::optional<Compiled> made = make(graphs, {}, {});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->spills.empty());
  Choice apart;
  apart.fuse.short_runs = false;
  const std::optional<Compiled> other = make(graphs, {}, apart);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->spills.empty());
}

}  // namespace
}  // namespace kiln::tensor
