// Programs that are cut into several kernels: values, equal layers, and the plan of HBM.
#include "kiln/tensor/lower/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "kiln/sim/machine.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/lower/hbm_plan.h"
#include "kiln/tensor/passes/repeats.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"
#include "tests/tensor/random_graph.h"

namespace kiln::tensor {
namespace {

unsigned seed_of_run() { return static_cast<unsigned>(test::seed() % 1'000'000); }

// Runs the kernels on the planned buffers. What is not written yet holds NaN.
Arrays run(const Model& model, const Graph& graph, const Arrays& inputs) {
  std::vector<std::byte> between(static_cast<std::size_t>(model.between_bytes), std::byte{0xff});
  std::map<std::string, std::vector<std::byte>> outside;
  for (const auto& [name, array] : inputs) outside[name] = to_bytes(array);
  for (const Buffer& b : model.buffers) {
    if (b.kind == Buffer::Kind::output) outside[b.name].resize(static_cast<std::size_t>(b.bytes()), std::byte{0xff});
  }
  for (const Step& step : model.steps) {
    const Compiled& kernel = model.kernels[step.kernel];
    std::map<std::string, std::vector<std::byte>> constants;
    sim::Buffers buffers;
    const auto bind = [&](const std::string& name, std::byte* data, std::size_t size) {
      for (const isa::Tensor& t : kernel.program.tensors) {
        if (t.name == name && t.role != isa::Role::internal) buffers[name] = {data, size};
      }
    };
    for (const Constant& c : kernel.constants) {
      auto& bytes = constants[c.name] = to_bytes(c.array);
      bind(c.name, bytes.data(), bytes.size());
    }
    for (const auto& [name, at] : step.buffers) {
      const Buffer& b = model.buffers[at];
      const auto size = static_cast<std::size_t>(b.bytes());
      bind(name, b.kind == Buffer::Kind::between ? between.data() + b.offset : outside.at(b.name).data(), size);
    }
    const isa::Launch launch = kernel.launch();
    sim::run(launch, arch(launch.target()), buffers, {.nan = sim::NanMode::off});
  }
  Arrays out;
  for (const Output& o : graph.outputs()) {
    const auto alias = model.aliases.find(o.name);
    const std::string& at = alias == model.aliases.end() ? o.name : alias->second;
    out[o.name] = from_bytes(graph.type(o.value), outside.at(at).data());
  }
  return out;
}

void expect_right(const Model& model, const Graph& graph, const Arrays& inputs) {
  const Arrays got = run(model, graph, inputs);
  for (const auto& [name, wanted] : evaluate(graph, inputs)) {
    const std::string wrong = difference_from(graph, inputs, name, got.at(name), wanted);
    EXPECT_EQ(wrong, "");
  }
}

// Embedding, equal layers, and the head: the structure of a language model.
Graph small_model(int layers, std::int64_t tokens = 24, DType t = DType::float32) {
  constexpr std::int64_t kHidden = 32, kInner = 48, kVocabulary = 50, kHeads = 2, kDepth = 16;
  Builder b("model");
  const Expr ids = b.input("ids", {DType::int32, {tokens}});
  Expr x = take(b.input("table", {t, {kVocabulary, kHidden}}), ids, 0);
  const Type ramp{DType::int32, {tokens, tokens}};
  const auto heads = [&](const Expr& y) { return transpose(reshape(y, {tokens, kHeads, kDepth}), {1, 0, 2}); };
  for (int i = 0; i < layers; ++i) {
    const auto weight = [&](const char* name, Shape shape) {
      return b.input(fmt::format("{}{}", name, i), {t, std::move(shape)});
    };
    const Expr h = rms_norm(x, weight("norm", {kHidden}));
    const Expr q = heads(matmul(h, weight("wq", {kHidden, kHidden})));
    const Expr k = heads(matmul(h, weight("wk", {kHidden, kHidden})));
    const Expr v = heads(matmul(h, weight("wv", {kHidden, kHidden})));
    const Expr scores = where(b.iota(ramp, 1) <= b.iota(ramp, 0), matmul(q, transpose(k)) * 0.25, -30000.0);
    const Expr seen = reshape(transpose(matmul(softmax(scores), v), {1, 0, 2}), {tokens, kHidden});
    x = x + matmul(seen, weight("wo", {kHidden, kHidden})) * 0.1;
    const Expr g = rms_norm(x, weight("norm_", {kHidden}));
    const Expr inner = silu(matmul(g, weight("gate", {kHidden, kInner}))) * matmul(g, weight("up", {kHidden, kInner}));
    x = x + matmul(inner, weight("down", {kInner, kHidden})) * 0.1;
  }
  b.output("logits",
           matmul(rms_norm(x, b.input("last", {t, {kHidden}})), b.input("head", {t, {kHidden, kVocabulary}})));
  return b.finish();
}

Arrays model_inputs(const Graph& graph, unsigned seed) {
  Arrays inputs = random_inputs(graph, seed, {.low = -0.5, .high = 0.5});
  for (double& id : inputs["ids"].data) id = std::fmod(std::fabs(id), 50);
  return inputs;
}

TEST(Model, LayersAreOneKernel) {
  const Graph graph = small_model(5);
  const Model model = compile_model(graph, {.level = 1}, {.most_ops = 60});
  EXPECT_LE(model.kernels.size(), 3u);
  EXPECT_EQ(model.steps.size(), 7u) << report_text(model);
  expect_right(model, graph, model_inputs(graph, seed_of_run()));
}

// The stream between layers takes the place of the one before the last.
TEST(Model, BuffersAreUsedAgain) {
  const Model model = compile_model(small_model(6), {.level = 1}, {.most_ops = 60});
  std::int64_t largest = 0;
  for (const Buffer& b : model.buffers) {
    if (b.kind == Buffer::Kind::between) largest = std::max(largest, b.bytes());
  }
  EXPECT_EQ(model.between_bytes, 2 * largest);
  EXPECT_GE(model.handed_on_bytes, 6 * largest);
}

TEST(Model, PiecesOfAnySizeAreRight) {
  const Graph graph = small_model(3);
  const Arrays inputs = model_inputs(graph, seed_of_run());
  for (const std::int64_t most : {1, 3, 7, 12, 25, 1000}) {
    SCOPED_TRACE(most);
    const Model model = compile_model(graph, {.level = 1}, {.most_ops = most});
    EXPECT_EQ(model.is_one_kernel(), most == 1000);
    expect_right(model, graph, inputs);
  }
}

TEST(Model, EveryTargetAndPairsAreRight) {
  const Graph graph = small_model(2);
  const Arrays inputs = model_inputs(graph, seed_of_run());
  for (const Arch* chip : all_archs()) {
    for (const int lnc : {1, 2}) {
      if (lnc == 2 && chip->target == Target::trn1) continue;
      SCOPED_TRACE(fmt::format("{} lnc {}", chip->name, lnc));
      expect_right(compile_model(graph, {.target = chip->target, .lnc = lnc}, {.most_ops = 30}), graph, inputs);
    }
  }
}

TEST(Model, CachesAreWrittenInPlace) {
  Builder b("caches");
  const Expr at = b.input("at", {DType::int32, {}});
  Expr x = b.input("x", {DType::float32, {4, 8}});
  for (int i = 0; i < 3; ++i) {
    const Expr cache = update_slice(b.input(fmt::format("cache{}", i), {DType::float32, {16, 8}}), tanh(x), at, 0);
    b.output(fmt::format("after{}", i), cache);
    x = x + matmul(matmul(x, transpose(cache)), cache) * 0.01;
  }
  b.output("y", x);
  const Graph graph = b.finish();
  const Model model = compile_model(graph, {.level = 1, .donated = {"cache0", "cache1", "cache2"}}, {.most_ops = 7});
  EXPECT_EQ(model.aliases.size(), 3u);
  Arrays inputs = random_inputs(graph, seed_of_run());
  inputs["at"].data = {5};
  expect_right(model, graph, inputs);
}

TEST(Model, OutputsThatNothingComputes) {
  Builder b("copies");
  const Expr x = b.input("x", {DType::float32, {5, 3}});
  const Expr y = exp(x), z = sqrt(abs(y));
  b.output("same", x);
  b.output("y", y);
  b.output("again", y);
  b.output("z", z);
  b.output("ramp", b.iota({DType::int32, {4}}, 0) + 1);
  const Graph graph = b.finish();
  expect_right(compile_model(graph, {.level = 1}, {.most_ops = 1}), graph, random_inputs(graph, seed_of_run()));
}

// What is left of a program without its dead ops may be one piece, which has the names of the program.
TEST(Model, OnePieceOfSeveralIsTheProgram) {
  Builder b("dead");
  const Expr x = b.input("x", {DType::float32, {5, 3}});
  abs(sqrt(x));
  b.output("y", exp(x));
  const Graph graph = b.finish();
  const Model model = compile_model(graph, {.level = 1}, {.most_ops = 2});
  ASSERT_EQ(model.steps.size(), 1u);
  EXPECT_TRUE(model.steps[0].buffers.contains("x") && model.steps[0].buffers.contains("y"));
  expect_right(model, graph, random_inputs(graph, seed_of_run()));
}

TEST(Model, RandomProgramsInPieces) {
  const unsigned seed = seed_of_run();
  for (unsigned i = 0; i < 12; ++i) {
    SCOPED_TRACE(fmt::format("KILN_SEED={} program {}", seed, i));
    std::mt19937 random(seed * 1000 + i);
    const Graph graph = i % 2 ? random_graph(seed * 1000 + i) : random_broad_graph(seed * 1000 + i);
    const auto most = static_cast<std::int64_t>(1 + random() % 6);
    const Arrays inputs = random_inputs(graph, seed + i);
    Model model;
    try {
      model = compile_model(graph, {.level = 1}, {.most_ops = most});
    } catch (const Error& e) {
      ASSERT_EQ(e.first().category, Category::not_yet) << to_text(e.diagnostics());
      continue;
    }
    expect_right(model, graph, inputs);
  }
}

TEST(Repeats, AreFound) {
  std::vector<std::uint64_t> marks{9, 8, 7};
  for (int i = 0; i < 10; ++i) {
    for (const std::uint64_t m : {1, 2, 1, 2, 3, 4, 5}) marks.push_back(m);
  }
  marks.push_back(6);
  const auto found = longest_repeat(marks, 0, marks.size());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 7u);
  EXPECT_EQ(found->start, 3u);
  EXPECT_EQ(found->count, 10u);
  EXPECT_FALSE(longest_repeat({1, 2, 3, 4, 5, 6, 7, 8, 9}, 0, 9));
}

// No two buffers that live at once overlap, and nothing lies beyond the end.
TEST(HbmPlan, KeepsApartWhatLivesAtOnce) {
  std::mt19937 random(seed_of_run());
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> buffers(1 + random() % 30);
    for (Lifetime& b : buffers) {
      b.bytes = 1 + random() % 5000;
      b.first = random() % 20;
      b.last = b.first + random() % 6;
    }
    const std::int64_t needed = plan_hbm(buffers);
    for (const Lifetime& a : buffers) {
      EXPECT_LE(a.offset + a.bytes, needed);
      for (const Lifetime& b : buffers) {
        if (&a == &b || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::tensor
