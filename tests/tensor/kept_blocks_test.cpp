// Results with more than 128 rows that stay in SBUF between regions, rows that are loaded before matrices, and products
// of several blocks of rows in one order: the same values as the oracle's, whether the search takes them or not.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/for_chip.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

struct Block {
  DType dtype;
  std::int64_t tokens, heads, depth;
  bool causal = false, biased = false;
  std::int64_t shared = 1;  // heads with the same keys
};

Graph block_of(const Block& c) {
  Builder b("block");
  const std::int64_t wide = c.heads * c.depth, keys = c.heads / c.shared;
  const Expr x = b.input("x", {c.dtype, {c.tokens, wide}});
  const auto weights = [&](const std::string& name, std::int64_t from, std::int64_t to) {
    return b.input(name, {c.dtype, {from, to}}) * (1 / std::sqrt(static_cast<double>(from)));
  };
  const auto split = [&](const Expr& t, std::int64_t heads) {
    return transpose(reshape(t, {c.tokens, heads, c.depth}), {1, 0, 2});
  };
  const auto repeated = [&](const Expr& t) {
    if (c.shared == 1) return t;
    const Shape apart{keys, c.shared, c.tokens, c.depth};
    return reshape(broadcast_to(reshape(t, {keys, 1, c.tokens, c.depth}), apart), {c.heads, c.tokens, c.depth});
  };
  const Expr q = split(matmul(x, weights("wq", wide, wide)), c.heads);
  const Expr k = repeated(split(matmul(x, weights("wk", wide, keys * c.depth)), keys));
  const Expr v = repeated(split(matmul(x, weights("wv", wide, keys * c.depth)), keys));
  Expr scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(c.depth)));
  if (c.biased) scores = scores + b.input("bias", {c.dtype, {c.tokens}});
  if (c.causal) {
    const Type ramp{DType::int32, {c.tokens, c.tokens}};
    scores = where(b.iota(ramp, 1) <= b.iota(ramp, 0), scores, -30000.0);
  }
  const Expr merged = reshape(transpose(matmul(softmax(scores), v), {1, 0, 2}), {c.tokens, wide});
  const Expr y = x + matmul(merged, weights("wo", wide, wide));
  b.output("out", y + matmul(tanh(matmul(y, weights("w1", wide, 2 * wide))), weights("w2", 2 * wide, wide)));
  return b.finish();
}

class KeptBlocks : public testing::TestWithParam<Block> {};

TEST_P(KeptBlocks, AreAsTheOracleSays) {
  const Graph graph = block_of(GetParam());
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    const std::vector<Graph> graphs{run_passes(for_chip(graph, arch(target))).back().graph};
    const CompileOptions options{.target = target};
    const std::optional<Compiled> before = make(graphs, options, {});
    ASSERT_TRUE(before);
    for (const bool attends_in_another_way : {false, true}) {
      Choice kept;
      kept.keeps_blocks = true;
      kept.region.rows_first = true;
      kept.region.products_beside = 2;
      if (attends_in_another_way) kept.region.heads_together = 2;
      kept.region.holds_values = kept.region.stores_together = attends_in_another_way;
      std::optional<Compiled> made = make(graphs, options, kept);
      ASSERT_TRUE(made);
      EXPECT_LT(made->spills.size(), before->spills.size());
      ASSERT_TRUE(errors_of(*made, options).empty());
      fill_constants(*made);
      const Outcome outcome = compare(std::move(*made), graph, random_inputs(graph, 1, {-1, 1}));
      EXPECT_EQ(outcome.wrong, "") << arch(target).name << (attends_in_another_way ? ", values held" : "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, KeptBlocks,
                         testing::Values(Block{bf16, 197, 4, 32}, Block{f32, 197, 2, 64}, Block{bf16, 300, 2, 64, true},
                                         Block{bf16, 256, 2, 32, false, true}, Block{bf16, 300, 2, 32, false, true},
                                         Block{f32, 520, 2, 32}, Block{bf16, 520, 2, 32, true},
                                         Block{bf16, 520, 2, 32, false, false, 2}));

// Scores for which the largest of each row are needed: everything is computed again, from SBUF too.
TEST(KeptBlocksAgain, WithTheLargestScores) {
  for (const std::int64_t tokens : {197, 520}) {
    const Graph graph = block_of({f32, tokens, 2, 32});
    const std::vector<Graph> graphs{run_passes(for_chip(graph, arch(Target::trn2))).back().graph};
    Choice kept;
    kept.keeps_blocks = true;
    std::optional<Compiled> made = make(graphs, {}, kept);
    ASSERT_TRUE(made && errors_of(*made, {}).empty());
    fill_constants(*made);
    Arrays inputs = random_inputs(graph, 2, {-1, 1});
    const Outcome calm = compare(*made, graph, inputs);
    for (double& x : inputs.at("x").data) x *= 14;
    const Outcome again = compare(std::move(*made), graph, inputs);
    EXPECT_EQ(again.wrong, "") << tokens;
    EXPECT_GT(again.executed, calm.executed);
  }
}

}  // namespace
}  // namespace kiln::tensor
