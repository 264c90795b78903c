// Programs split over the two cores of a pair, in every way that is considered, equal the oracle.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "bench/compile_patterns.h"
#include "kiln/emit/emit.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/pair.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"
#include "tests/tensor/random_graph.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

Graph product_of(std::int64_t m, std::int64_t k, std::int64_t n) {
  Builder b("matmul");
  b.output("out", matmul(b.input("x", {f32, {m, k}}), b.input("y", {f32, {k, n}})));
  return b.finish();
}

Graph attention(std::int64_t heads, std::int64_t n, bool causal) {
  Builder b("attention");
  const Type type{bf16, {heads, n, 32}};
  const Expr q = b.input("q", type), k = b.input("k", type), v = b.input("v", type);
  Expr scores = matmul(q, transpose(k)) * 0.2;
  if (causal) {
    const Type ramp{DType::int32, {n, n}};
    scores = where(b.iota(ramp, 1) <= b.iota(ramp, 0), scores, -30000.0);
  }
  b.output("out", matmul(softmax(scores), v));
  return b.finish();
}

// Every op that cores exchange with: what is split along rows, columns and the sum.
Graph mixed(std::int64_t rows, std::int64_t inner) {
  Builder b("mixed");
  const Expr x = b.input("x", {f32, {rows, 96}});
  const Expr h = silu(matmul(rms_norm(x, b.input("gain", {f32, {96}})), b.input("w", {f32, {96, inner}})));
  const Expr y = x + matmul(h, b.input("u", {f32, {inner, 96}}));
  b.output("y", y);
  b.output("sorted", sort(y, 1));
  b.output("total", sum(h, {{0}, false}));
  b.output("turned", transpose(h));
  return b.finish();
}

struct Tried {
  int ways = 0, exchanges = 0, gathers = 0, through_hbm = 0;
};

// Any share of any value that an op can make, whatever it costs.
Pairing random_pairing(const Graph& graph, std::mt19937& random) {
  Pairing out{.what = "at random", .through_hbm = random() % 3 == 0};
  const auto any = [&](Value v, bool summands) {
    std::vector<Share> shares = shares_of(graph, v);
    std::erase_if(shares, [&](const Share& s) { return (s.is_summand() && !summands) || !needed(graph, v, s); });
    return shares[random() % shares.size()];
  };
  for (Value v = 0; v < graph.size(); ++v) out.shares.push_back(any(v, true));
  for (const Output& o : graph.outputs()) out.outputs.push_back(any(o.value, false));
  return out;
}

Tried expect_right(const Graph& graph, const Graph& ready, const std::vector<Pairing>& ways, Target target,
                   unsigned seed) {
  Tried tried;
  const CompileOptions options{.target = target, .level = 1, .lnc = 2};
  for (const Pairing& way : ways) {
    SCOPED_TRACE(way.what + "\n" + print(half_of(ready, way, 1)));
    const std::vector<Graph> cores{half_of(ready, way, 0), half_of(ready, way, 1)};
    std::optional<Compiled> made = make(cores, options, {});
    if (!made || !errors_of(*made, options).empty()) continue;  // does not fit: another way is taken
    for (const Op& op : cores[0].ops()) {
      tried.exchanges += op.code == OpCode::exchange;
      tried.gathers += op.code == OpCode::pair_gather;
      tried.through_hbm += op.code == OpCode::pair_gather_hbm;
    }
    ++tried.ways;
    const Outcome out = compare(std::move(*made), graph, random_inputs(graph, seed));
    EXPECT_EQ(out.wrong, "") << "seed " << seed << " on " << arch(target).name << "\n" << print(graph);
  }
  return tried;
}

void expect_all_ways_right(const Graph& graph, Target target, unsigned seed) {
  const Graph ready = run_passes(graph).back().graph;
  EXPECT_GT(expect_right(graph, ready, pairings(ready, arch(target)), target, seed).ways, 0) << print(graph);
}

TEST(Pair, EveryWayEqualsOracle) {
  for (const Graph& graph : {product_of(128, 256, 512), product_of(131, 77, 65), product_of(1, 64, 33),
                             attention(4, 64, true), attention(3, 65, false), attention(1, 130, true),
                             attention(5, 33, true), product_of(3, 129, 257), mixed(128, 160), mixed(77, 33)}) {
    for (Target target : {Target::trn2, Target::trn3}) expect_all_ways_right(graph, target, 7);
  }
}

unsigned first_seed() { return static_cast<unsigned>(test::seed() % 1'000'000'000); }

TEST(Pair, RandomProgramsInEveryWay) {
  for (unsigned seed = first_seed(); seed < first_seed() + 40 && !HasFailure(); ++seed)
    expect_all_ways_right(random_graph(seed), seed % 2 ? Target::trn2 : Target::trn3, seed);
}

TEST(Pair, RandomSharesEqualOracle) {
  Tried all;
  for (unsigned seed = first_seed(); seed < first_seed() + 40 && !HasFailure(); ++seed) {
    std::mt19937 random(seed);
    const Graph graph = seed % 4 ? random_graph(seed) : mixed(30 + seed, 160), ready = run_passes(graph).back().graph;
    std::vector<Pairing> ways;
    for (int i = 0; i < 4; ++i) ways.push_back(random_pairing(ready, random));
    std::erase_if(ways, [&](const Pairing& way) { return !agrees(ready, way); });
    const Tried tried = expect_right(graph, ready, ways, seed % 2 ? Target::trn2 : Target::trn3, seed);
    all.exchanges += tried.exchanges;
    all.gathers += tried.gathers;
    all.through_hbm += tried.through_hbm;
  }
  EXPECT_GT(all.exchanges, 0);
  EXPECT_GT(all.gathers, 0);
  EXPECT_GT(all.through_hbm, 0);
}

TEST(Pair, BothCoresAreOneKernel) {
  for (const Graph& graph : {product_of(512, 700, 514), attention(4, 512, false), bench::layer()}) {
    const Compiled made = compile(graph, {.lnc = 2});
    ASSERT_TRUE(made.peer);
    EXPECT_NE(emit::emit(made.launch()).find("program_id"), std::string::npos) << made.split;
  }
  for (const Graph& graph : {product_of(2049, 511, 1025), attention(7, 513, true)}) {  // both have the middle
    const Compiled made = compile(graph, {.lnc = 2});
    ASSERT_TRUE(made.peer);
    EXPECT_NE(emit::emit(made.launch()).find("program_id"), std::string::npos) << made.split;
  }
}

TEST(Pair, HalvesTheTimeOfWhatIsLarge) {
  const auto time = [](const Graph& graph, int lnc) { return compile(graph, {.lnc = lnc}).time_ns; };
  const Graph layer = bench::layer();
  EXPECT_GT(time(layer, 1), 1.3 * time(layer, 2));
  const Graph heads = attention(8, 1024, false);
  EXPECT_GT(time(heads, 1), 1.7 * time(heads, 2));
  const Graph odd = product_of(2049, 1023, 1025);
  EXPECT_GT(time(odd, 1), 1.7 * time(odd, 2));
}

TEST(Pair, ChipWithoutPairs) {
  try {
    compile(product_of(4, 4, 4), {.target = Target::trn1, .lnc = 2});
    ADD_FAILURE() << "compiled";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("lnc 2 on trn1"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace kiln::tensor
