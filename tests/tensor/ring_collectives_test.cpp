// Steps around a ring, with channels and with a reduction, and numbers of ranks, as ops: types, the oracle by hand,
// text form, and compiled programs on ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "tests/error_of.h"
#include "tests/seed.h"
#include "tests/tensor/on_ranks.h"

namespace kiln::tensor {
namespace {

constexpr int kRanks = 4;
const RankGroups kRing = {{0, 1, 2, 3}}, kTwoRings = {{2, 0}, {1, 3}};

using Made = Expr (*)(const Expr&);
struct Case {
  const char* name;
  Type type;
  Made made;
};

Expr step_of(const Expr& x, std::int64_t step, const RankGroups& groups) {
  const Expr number(x.graph(), x.graph().constant({DType::int32, {}}, {static_cast<double>(step)}));
  return collective_permute_implicit_current_processing_rank_id(number, groups);
}
Expr as_float(const Expr& number, const Expr& x) { return cast(number, DType::float32) + x * 0.0; }

// All parts of the ring, each times one more than the number of the rank that it came from.
Expr around_the_ring(const Expr& x, bool reduces) {
  return for_loop(kRanks, {x, x * 0.0}, {}, [&](const Expr& pass, const Exprs& s, const Exprs&) {
    const Expr who = cast(collective_permute_implicit_current_processing_rank_id(pass, kRing), DType::float32);
    const Expr next = reduces ? collective_permute_implicit_reduce(s[0], s[0] * 0.0, kRing)
                              : collective_permute_implicit(s[0], kRing);
    return Exprs{next, s[1] + s[0] * (who + 1.0)};
  })[1];
}

const Case kCases[] = {
    {"a step", {DType::float32, {3, 5}}, [](const Expr& x) { return collective_permute_implicit(x, kRing); }},
    {"two rings", {DType::int32, {7}}, [](const Expr& x) { return collective_permute_implicit(x, kTwoRings); }},
    {"two channels", {DType::float32, {5, 3}}, [](const Expr& x) { return collective_permute_implicit(x, kRing, 2); }},
    {"channels of one row",
     {DType::bfloat16, {1, 9}},
     [](const Expr& x) { return collective_permute_implicit(x, kTwoRings, 2); }},
    {"a number", {DType::float32, {}}, [](const Expr& x) { return collective_permute_implicit(x, kRing); }},
    {"a sum",
     {DType::float32, {3, 5}},
     [](const Expr& x) { return collective_permute_implicit_reduce(x, x * 2.0, kRing); }},
    {"a maximum in two channels",
     {DType::float32, {4, 3}},
     [](const Expr& x) { return collective_permute_implicit_reduce(x, x * -1.0, kTwoRings, "maximum", 2); }},
    {"integers",
     {DType::int32, {6}},
     [](const Expr& x) { return collective_permute_implicit_reduce(x, x * x, kRing, "minimum"); }},
    {"the rank", {DType::float32, {2}}, [](const Expr& x) { return as_float(rank_id(x.graph(), kRanks), x); }},
    {"what the rank picks",
     {DType::float32, {4, 3}},
     [](const Expr& x) { return take(x, reshape(rank_id(x.graph(), kRanks), {1}), 0); }},
    {"whose data is here",
     {DType::float32, {2}},
     [](const Expr& x) { return as_float(step_of(x, 2, kRing) + step_of(x, 3, kTwoRings), x); }},
    {"around the ring", {DType::float32, {3, 4}}, [](const Expr& x) { return around_the_ring(x, false); }},
    {"around the ring with sums", {DType::float32, {3, 4}}, [](const Expr& x) { return around_the_ring(x, true); }},
};

Graph graph_of(const Case& c) {
  Builder b("p");
  b.output("y", c.made(b.input("x", c.type)));
  return b.finish();
}

std::vector<Arrays> inputs_of(const Type& type) {
  std::mt19937 rng(test::seed());
  std::vector<Arrays> all(kRanks);
  for (Arrays& own : all) {
    Array& x = own["x"] = {type, {}};
    for (std::int64_t i = 0; i < type.size(); ++i) x.data.push_back(static_cast<int>(rng() % 64) - 32);
  }
  return all;
}

TEST(RingCollectives, CompiledProgramsDoWhatTheOracleSays) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    for (const Target target : {Target::trn1, Target::trn2, Target::trn3})
      expect_on_ranks(graph_of(c), inputs_of(c.type), {.target = target});
    for (const Target target : {Target::trn2, Target::trn3})
      expect_on_ranks(graph_of(c), inputs_of(c.type), {.target = target, .lnc = 2});
  }
}

// The oracle itself, counted by hand: rank r has 10 r + i.
TEST(RingCollectives, Oracle) {
  std::vector<Arrays> inputs(kRanks);
  for (int r = 0; r < kRanks; ++r) inputs[r]["x"] = {{DType::float32, {2}}, {10. * r, 10. * r + 1}};
  const auto results = [&](Made made) {
    std::vector<std::vector<double>> out;
    for (const Arrays& own : evaluate(graph_of({"", {DType::float32, {2}}, made}), inputs))
      out.push_back(own.at("y").data);
    return out;
  };
  using Rows = std::vector<std::vector<double>>;
  EXPECT_EQ(results([](const Expr& x) { return collective_permute_implicit(x, kRing); }),
            (Rows{{30, 31}, {0, 1}, {10, 11}, {20, 21}}));
  EXPECT_EQ(results([](const Expr& x) { return collective_permute_implicit(x, kTwoRings, 2); }),
            (Rows{{20, 21}, {30, 31}, {0, 1}, {10, 11}}));
  EXPECT_EQ(results([](const Expr& x) { return collective_permute_implicit_reduce(x, x * 2.0, kRing); }),
            (Rows{{90, 93}, {0, 3}, {30, 33}, {60, 63}}));
  EXPECT_EQ(results([](const Expr& x) { return as_float(rank_id(x.graph(), kRanks), x); }),
            (Rows{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(results([](const Expr& x) { return as_float(step_of(x, 1, kRing), x); }),
            (Rows{{3, 3}, {0, 0}, {1, 1}, {2, 2}}));
  EXPECT_EQ(results([](const Expr& x) { return as_float(step_of(x, 5, kTwoRings), x); }),
            (Rows{{2, 2}, {3, 3}, {0, 0}, {1, 1}}));
  // 1 * (0, 1) + 2 * (10, 11) + 3 * (20, 21) + 4 * (30, 31)
  EXPECT_EQ(results([](const Expr& x) { return around_the_ring(x, false); }), Rows(kRanks, {200, 210}));
}

// What the ops become: each of them the instruction of its name.
TEST(RingCollectives, Instructions) {
  for (const Case& c : kCases) {
    if (c.type.dtype == DType::int32) continue;  // integers are reduced on the core
    const Graph graph = graph_of(c);
    const std::string program = isa::print(compile(graph).program);
    for (const Op& op : graph.ops()) {
      if (!is_collective(op.code)) continue;
      EXPECT_NE(program.find(fmt::format("{}(", name(op.code))), std::string::npos) << c.name << "\n" << program;
    }
  }
}

TEST(RingCollectives, TextForm) {
  for (const Case& c : kCases) {
    const std::string text = print(graph_of(c));
    EXPECT_EQ(print(parse(text, "p.kt")), text);
  }
}

TEST(RingCollectives, Refusals) {
  const auto code = [](Made made, const Type& type = {DType::float32, {4, 6}}) {
    return error_of([&] {
             Builder b("p");
             made(b.input("x", type));
           })
        .code;
  };
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit(x, {}); }), "tensor.R21");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit(x, {{0, 1}, {1, 2}}); }), "tensor.R21");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit(x, kRing, 0); }), "tensor.R26");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit(x, kRing, 5); }), "tensor.R26");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit(x, kRing, 2); }, {DType::float32, {}}),
            "tensor.R26");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit_reduce(x, x, kRing, "multiply"); }),
            "tensor.R1");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit_reduce(x, x, kRing); }, {DType::int8, {4}}),
            "tensor.R4");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit_reduce(x, sum(x, {{0}}), kRing); }),
            "tensor.R11");
  EXPECT_EQ(code([](const Expr& x) { return rank_id(x.graph(), 0); }), "tensor.R21");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit_current_processing_rank_id(x, kRing); }),
            "tensor.R12");
  EXPECT_EQ(code([](const Expr& x) { return collective_permute_implicit_current_processing_rank_id(x, kRing, 4); },
                 {DType::int32, {}}),
            "tensor.R26");
}

// Known when it runs only: by the oracle, and by the simulator.
TEST(RingCollectives, RefusalsOfARun) {
  const Type number{DType::int32, {}};
  std::vector<Arrays> inputs(kRanks);
  for (Arrays& own : inputs) own["x"] = {number, {-1}};
  const Graph back = graph_of(
      {"", number, [](const Expr& x) { return collective_permute_implicit_current_processing_rank_id(x, kRing); }});
  EXPECT_EQ(error_of([&] { evaluate(back, inputs); }).code, "tensor.R27");
  EXPECT_EQ(error_of([&] { run_on_ranks(back, inputs, {}); }).code,
            "collective_permute_implicit_current_processing_rank_id.R2");
  const Graph few = graph_of({"", number, [](const Expr& x) { return rank_id(x.graph(), 2) + x; }});
  EXPECT_EQ(error_of([&] { evaluate(few, inputs); }).code, "tensor.R21");
  EXPECT_EQ(error_of([&] { run_on_ranks(few, inputs, {}); }).code, "run.R3");
  // Three channels ask for all devices of a server, which the chip says.
  const Graph three =
      graph_of({"", {DType::float32, {6, 4}}, [](const Expr& x) { return collective_permute_implicit(x, kRing, 3); }});
  EXPECT_EQ(error_of([&] { compile(three); }).code, "collective_permute_implicit.R10");
}

TEST(RingCollectives, OneRankAlone) {
  for (const Case& c : kCases)
    EXPECT_EQ(error_of([&] { evaluate(graph_of(c), inputs_of(c.type)[0]); }).code, "tensor.R17");
}

}  // namespace
}  // namespace kiln::tensor
