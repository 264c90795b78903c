// Collectives as ops: types, the oracle over ranks, and compiled programs that run on ranks, against sums by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kiln/sim/machine.h"
#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/lower.h"
#include "tests/error_of.h"
#include "tests/tensor/on_ranks.h"

namespace kiln::tensor {
namespace {

constexpr int kRanks = 4;
const RankGroups kAll = {{0, 1, 2, 3}}, kPairs = {{0, 2}, {3, 1}};

using Made = Expr (*)(const Expr&);
struct Case {
  const char* name;
  Shape shape;
  Made made;
};
const Case kCases[] = {
    {"all_reduce", {3, 5}, [](const Expr& x) { return all_reduce(x, kAll); }},
    {"maximum of pairs", {3, 5}, [](const Expr& x) { return all_reduce(x, kPairs, "maximum"); }},
    {"minimum of a vector", {7}, [](const Expr& x) { return all_reduce(x, kAll, "minimum"); }},
    {"all_gather", {3, 5}, [](const Expr& x) { return all_gather(x, 0, kAll); }},
    {"all_gather of columns", {3, 5}, [](const Expr& x) { return all_gather(x, -1, kPairs); }},
    {"reduce_scatter", {8, 3}, [](const Expr& x) { return reduce_scatter(x, 0, kAll); }},
    {"reduce_scatter in the middle", {2, 8, 3}, [](const Expr& x) { return reduce_scatter(x, 1, kPairs, "maximum"); }},
    {"all_to_all", {8, 3}, [](const Expr& x) { return all_to_all(x, 0, 0, kAll); }},
    {"all_to_all of rows to columns", {8, 3, 2}, [](const Expr& x) { return all_to_all(x, 0, 1, kAll); }},
    {"all_to_all of columns to rows", {3, 8}, [](const Expr& x) { return all_to_all(x, 1, 0, kPairs); }},
    {"collective_permute",
     {3, 5},
     [](const Expr& x) {
       return collective_permute(x, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
     }},
    {"work on odd extents", {7, 3}, [](const Expr& x) { return exp(all_reduce(abs(x) * 0.015625, kAll)) + x; }},
    {"parts of odd extents", {7, 5}, [](const Expr& x) { return abs(all_gather(x * 0.5, 1, kAll)) + 1.0; }},
    {"work around them",
     {4, 6},
     [](const Expr& x) {
       return all_reduce(exp(x * 0.5), kAll) + all_gather(x, 0, {{0}, {1}, {2}, {3}});
     }},
};

Graph graph_of(const Case& c) {
  Builder b("p");
  b.output("y", c.made(b.input("x", {DType::float32, c.shape})));
  return b.finish();
}

std::vector<Arrays> inputs_of(const Case& c) {
  std::mt19937 rng(7);
  std::vector<Arrays> all(kRanks);
  for (Arrays& own : all) {
    Array& x = own["x"] = {{DType::float32, c.shape}, {}};
    for (std::int64_t i = 0; i < x.type.size(); ++i) x.data.push_back(static_cast<int>(rng() % 64) - 32);
  }
  return all;
}

void expect_like_oracle(const Graph& graph, const std::vector<Arrays>& inputs) {
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3})
    expect_on_ranks(graph, inputs, {.target = target});
  for (const Target target : {Target::trn2, Target::trn3}) expect_on_ranks(graph, inputs, {.target = target, .lnc = 2});
}

TEST(TensorCollectives, CompiledProgramsDoWhatTheOracleSays) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    expect_like_oracle(graph_of(c), inputs_of(c));
  }
}

// A pair of cores shares the work around a collective, and its bytes cross once.
TEST(TensorCollectives, PairsBringHalves) {
  const Case c{"", {64, 96}, [](const Expr& x) { return all_reduce(exp(x * 0.03125), kAll) * 2.0; }};
  const Compiled compiled = compile(graph_of(c), {.lnc = 2});
  for (const isa::Program* program : compiled.launch().programs) {
    const auto sent =
        std::ranges::find_if(program->tensors, [](const isa::Tensor& t) { return t.name.starts_with("sent"); });
    ASSERT_NE(sent, program->tensors.end());
    EXPECT_EQ(sent->memory, Memory::shared_hbm);
    EXPECT_EQ(sent->shape, (Shape{64, 96}));
  }
  expect_like_oracle(graph_of(c), inputs_of(c));
}

// Each pass meets again, with tensors that the pass before used.
const Case kLoops[] = {
    {"a sum in every pass",
     {4, 6},
     [](const Expr& x) {
       return for_loop(3, {x}, {}, [](const Expr& pass, const Exprs& s, const Exprs&) {
         return Exprs{all_reduce(s[0], kAll) * 0.25 + cast(pass, DType::float32)};
       })[0];
     }},
    {"around the ring",
     {3, 5},
     [](const Expr& x) {
       return for_loop(4, {x, x * 0.0}, {}, [](const Expr&, const Exprs& s, const Exprs&) {
         return Exprs{collective_permute(s[0], {{0, 1}, {1, 2}, {2, 3}, {3, 0}}), s[1] + s[0]};
       })[1];
     }},
    {"all other kinds",
     {8, 4},
     [](const Expr& x) {
       return for_loop(2, {x}, {}, [](const Expr&, const Exprs& s, const Exprs&) {
         return Exprs{all_to_all(all_gather(reduce_scatter(s[0], 0, kPairs), 0, kPairs), 0, 0, kAll) * 0.5};
       })[0];
     }},
    {"one number",
     {1},
     [](const Expr& x) {
       return for_loop(3, {x}, {}, [](const Expr&, const Exprs& s, const Exprs&) {
         return Exprs{all_reduce(s[0], kAll) * 0.25 + 1.0};
       })[0];
     }},
    {"as long as the sum is small",
     {2, 3},
     [](const Expr& x) {
       const Expr one = abs(x) * 0.0 + 1.0;
       const auto small = [](const Exprs& s, const Exprs&) { return max(s[0], {{0, 1}}) < 50.0; };
       return while_loop({one}, {}, small,
                         [](const Exprs& s, const Exprs&) { return Exprs{all_reduce(s[0], kAll)}; })[0];
     }},
    {"a branch that all take",
     {2, 3},
     [](const Expr& x) {
       const auto yes = [](const Exprs& reads) { return Exprs{all_reduce(reads[0], kAll)}; };
       const auto no = [](const Exprs& reads) { return Exprs{reads[0] * 2.0}; };
       return branch(sum(x * 0.0, {{0, 1}}) < 1.0, {x}, yes, no)[0];
     }},
    {"groups that take different branches",
     {2, 3},
     [](const Expr& x) {
       const Expr of_pair = max(all_gather(max(x, {{0, 1}, true}), 0, kPairs), {{0, 1}});
       const auto yes = [](const Exprs& reads) { return Exprs{all_reduce(reads[0], kPairs)}; };
       const auto no = [](const Exprs& reads) { return Exprs{all_reduce(reads[0], kPairs, "maximum")}; };
       return branch(of_pair > 20.0, {x}, yes, no)[0];
     }},
};

TEST(TensorCollectives, InLoopsAndBranches) {
  for (const Case& c : kLoops) {
    SCOPED_TRACE(c.name);
    expect_like_oracle(graph_of(c), inputs_of(c));
  }
}

// By hand.
TEST(TensorCollectives, OracleOfALoop) {
  std::vector<Arrays> inputs(kRanks);
  for (int r = 0; r < kRanks; ++r) inputs[r]["x"] = {{DType::float32, {4, 6}}, std::vector<double>(24, r)};
  for (const Arrays& own : evaluate(graph_of(kLoops[0]), inputs)) {
    EXPECT_EQ(own.at("y").data[0], 1.5 + 0 + 1 + 2);  // the mean of 0 to 3 stays, and each pass adds its number
  }
}

// Ranks that wait for one that went another way: the oracle and the simulator both say so.
TEST(TensorCollectives, RanksThatGoOtherWays) {
  const auto differs = [](const Expr& x) {
    const auto yes = [](const Exprs& reads) { return Exprs{all_reduce(reads[0], kAll)}; };
    const auto no = [](const Exprs& reads) { return Exprs{reads[0] * 2.0}; };
    return branch(sum(x, {{0}}) > 0.0, {x}, yes, no)[0];
  };
  const auto leaves = [](const Expr& x) {
    const auto small = [](const Exprs& s, const Exprs&) { return sum(s[0], {{0}}) < 100.0; };
    return while_loop({x}, {}, small, [](const Exprs& s, const Exprs&) { return Exprs{all_reduce(s[0], kAll)}; })[0];
  };
  std::vector<Arrays> inputs(kRanks);
  for (int r = 0; r < kRanks; ++r) inputs[r]["x"] = {{DType::float32, {1}}, {r == 2 ? -1.0 : 200.0 * r + 1}};
  for (const Made made : {Made(differs), Made(leaves)}) {
    const Graph graph = graph_of({"", {1}, made});
    const Diagnostic oracle = error_of([&] { evaluate(graph, inputs); });
    EXPECT_EQ(oracle.code, "tensor.R24") << oracle.found;
    const Compiled compiled = compile(graph);
    std::vector<std::vector<float>> x(kRanks), y(kRanks, std::vector<float>(1));
    std::vector<sim::Buffers> buffers(kRanks);
    for (int r = 0; r < kRanks; ++r) {
      x[r] = {static_cast<float>(inputs[r].at("x").data[0])};
      buffers[r]["x"] = {reinterpret_cast<std::byte*>(x[r].data()), 4};
      buffers[r]["y"] = {reinterpret_cast<std::byte*>(y[r].data()), 4};
    }
    ASSERT_TRUE(compiled.constants.empty());
    EXPECT_EQ(error_of([&] { sim::run(compiled.launch().on_ranks(kRanks), arch(Target::trn2), buffers); }).code,
              "run.R17");
  }
}

// The oracle itself, counted by hand: rank r has 10 r + i.
TEST(TensorCollectives, Oracle) {
  std::vector<Arrays> inputs(2);
  for (int r = 0; r < 2; ++r)
    inputs[r]["x"] = {{DType::float32, {4}}, {10. * r, 10. * r + 1, 10. * r + 2, 10. * r + 3}};
  const auto results = [&](Made made) {
    std::vector<std::vector<double>> out;
    for (const Arrays& own : evaluate(graph_of({"", {4}, made}), inputs)) out.push_back(own.at("y").data);
    return out;
  };
  using Rows = std::vector<std::vector<double>>;
  EXPECT_EQ(results([](const Expr& x) { return all_reduce(x, {{0, 1}}); }), (Rows{{10, 12, 14, 16}, {10, 12, 14, 16}}));
  EXPECT_EQ(results([](const Expr& x) {
              return all_gather(x, 0, {{1, 0}});
            }),
            (Rows{{10, 11, 12, 13, 0, 1, 2, 3}, {10, 11, 12, 13, 0, 1, 2, 3}}));
  EXPECT_EQ(results([](const Expr& x) { return reduce_scatter(x, 0, {{0, 1}}); }), (Rows{{10, 12}, {14, 16}}));
  EXPECT_EQ(results([](const Expr& x) {
              return all_to_all(x, 0, 0, {{0, 1}});
            }),
            (Rows{{0, 1, 10, 11}, {2, 3, 12, 13}}));
  EXPECT_EQ(results([](const Expr& x) {
              return collective_permute(x, {{0, 1}, {1, 0}});
            }),
            (Rows{{10, 11, 12, 13}, {0, 1, 2, 3}}));
}

TEST(TensorCollectives, TextForm) {
  for (const Case& c : kCases) {
    const std::string text = print(graph_of(c));
    EXPECT_EQ(print(parse(text, "p.kt")), text);
  }
}

TEST(TensorCollectives, Refusals) {
  const auto code = [](Made made, DType dtype = DType::float32) {
    return error_of([&] {
             Builder b("p");
             made(b.input("x", {dtype, {4, 6}}));
           })
        .code;
  };
  EXPECT_EQ(code([](const Expr& x) { return all_reduce(x, {}); }), "tensor.R21");
  EXPECT_EQ(code([](const Expr& x) { return all_reduce(x, {{0, 1}, {1, 2}}); }), "tensor.R21");
  EXPECT_EQ(code([](const Expr& x) { return all_gather(x, 0, {{0, 1}, {2}}); }), "tensor.R21");
  EXPECT_EQ(code([](const Expr& x) { return all_reduce(x, kAll, "multiply"); }), "tensor.R1");
  EXPECT_EQ(code([](const Expr& x) { return all_reduce(x, kAll); }, DType::int8), "tensor.R4");
  EXPECT_EQ(code([](const Expr& x) { return all_gather(x, 2, kAll); }), "tensor.R5");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute(x, {{0, 1}}); }), "tensor.R22");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute(x, {{0, 1}, {0, 2}}); }), "tensor.R22");
  EXPECT_EQ(code([](const Expr& x) { return reduce_scatter(x, 1, kAll); }), "tensor.R23");
  EXPECT_EQ(code([](const Expr& x) { return all_to_all(x, 1, 0, kAll); }), "tensor.R23");
}

TEST(TensorCollectives, OneRankAlone) {
  EXPECT_EQ(error_of([&] { evaluate(graph_of(kCases[0]), inputs_of(kCases[0])[0]); }).code, "tensor.R17");
}

}  // namespace
}  // namespace kiln::tensor
