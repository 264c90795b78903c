// Advice on small programs: each rule speaks up where it should, on the right lines, is silent once its
// advice is followed, and does not promise more than following it brings.
#include <gtest/gtest.h>

#include <set>

#include "kiln/advice/advice.h"
#include "kiln/isa/text/parse.h"

namespace kiln::advice {
namespace {

// A program whose statements are `body`; the first of them stands on line 11.
isa::Program program(const std::string& body) {
  return isa::parse(R"(kiln 1
program "p" target trn2
tensor x: input hbm float32 [128, 65536]
tensor y: output shared_hbm float32 [128, 65536]
tensor f: sbuf float32 [128, 4096]
tensor g: sbuf float32 [128, 4096]
tensor h: sbuf bfloat16 [128, 4096]
tensor k: sbuf bfloat16 [128, 4096]
tensor p: psum float32 [128, 2048]
tensor q: psum float32 [128, 512]
)" + body,
                    "p.kiln");
}

struct Judged {
  isa::Program program;
  double total_ns;
  std::vector<Advice> advice;

  const Advice* find(std::string_view rule) const {
    for (const Advice& a : advice) {
      if (a.rule == rule) return &a;
    }
    return nullptr;
  }
};

Judged judge(const std::string& body) {
  Judged judged{program(body), 0, {}};
  const timing::TimedRun run = timing::time_program(judged.program, {.reorder = false});
  judged.total_ns = timing::to_ns(run.timeline.total);
  judged.advice = advise(run);
  return judged;
}

// `rule` speaks about `bad` on `lines` and not about `good`, which does the same work as the advice says. The
// promised gain is within a fifth of what that brought.
void expect_advice(std::string_view rule, const std::string& bad, const std::string& good, const char* lines) {
  const Judged before = judge(bad), after = judge(good);
  const Advice* advice = before.find(rule);
  ASSERT_NE(advice, nullptr) << "total " << before.total_ns << " ns";
  EXPECT_EQ(to_string(advice->places.first), lines);
  EXPECT_EQ(after.find(rule), nullptr) << "total " << after.total_ns << " ns";
  const double gained = before.total_ns - after.total_ns;
  EXPECT_NEAR(advice->gain_ns, gained, 0.2 * gained) << before.total_ns << " ns, then " << after.total_ns;
  EXPECT_TRUE(advice->estimate.starts_with("model re-run with ")) << advice->estimate;
}

std::string repeated(int times, const std::string& body) {
  return "loop i = 0 .. " + std::to_string(times) + " {\n" + body + "}\n";
}

TEST(Advice, SmallDma) {
  expect_advice("small_dma",
                repeated(64,
                         "dma_copy(dst=f.ap(0:128, [[1, 64]], offset=64*i), src=x.ap([[65536, 128], [1, 64]], "
                         "offset=64*i))\n"),
                "dma_copy(dst=f, src=x.ap([[65536, 128], [1, 4096]]))\n", "p.kiln:12");
}

TEST(Advice, Fp32Matmul) {
  const auto matmuls = [](const char* tile) {
    return repeated(64, "nc_matmul(dst=q, stationary=" + std::string(tile) + ".ap(0:128, [[1, 128]]), moving=" + tile +
                            ".ap(0:128, [[1, 512]]))\n");
  };
  expect_advice("fp32_matmul", matmuls("g"), matmuls("h"), "p.kiln:12");
}

TEST(Advice, PsumEvacuation) {
  const auto step = [](int bank) {
    const std::string tile = "p.ap(0:128, [[1, 512]], offset=" + std::to_string(512 * bank) + ")";
    return "nc_matmul(dst=" + tile +
           ", stationary=h.ap(0:128, [[1, 128]]), moving=h.ap(0:128, [[1, 512]]), accumulate=false)\n"
           "tensor_copy(dst=f.ap(0:128, [[1, 512]]), src=" +
           tile + ")\n";
  };
  expect_advice("psum_evacuation", repeated(512, step(0)), repeated(128, step(0) + step(1) + step(2) + step(3)),
                "p.kiln:12, 13");
}

TEST(Advice, DoubleBuffering) {
  const auto step = [](const char* tile, const char* offset) {
    return "dma_copy(dst=" + std::string(tile) + ", src=x.ap([[65536, 128], [1, 4096]], offset=" + offset +
           "))\nactivation(dst=" + tile + ", op=exp, data=" + tile +
           ")\ndma_copy(dst=y.ap([[65536, 128], [1, 4096]], offset=" + offset + "), src=" + tile + ")\n";
  };
  expect_advice("double_buffering", repeated(16, step("f", "4096*i")),
                repeated(8, step("f", "8192*i") + step("g", "8192*i+4096")), "p.kiln:12, 14");
}

TEST(Advice, EngineImbalance) {
  const std::string vector = "tensor_scalar(dst=f, data=f, op0=multiply, operand0=2.0)\n";
  const std::string movable = "tensor_scalar(dst=g, data=g, op0=multiply, operand0=2.0";
  expect_advice("engine_imbalance", repeated(16, movable + ")\n" + vector),
                repeated(16, movable + ", engine=scalar)\n" + vector), "p.kiln:12");
}

TEST(Advice, VectorFastMode) {
  const auto add = [](const char* a, const char* b) {
    return repeated(32, "tensor_tensor(dst=" + std::string(a) + ", data1=" + a + ", data2=" + b + ", op=add)\n");
  };
  expect_advice("vector_fast_mode", add("f", "g"), add("h", "k"), "p.kiln:12");
}

// The whole of x and y is compulsory, so x has to be read over and over.
TEST(Advice, Reload) {
  const auto pass = [](int times) {
    return "loop j = 0 .. " + std::to_string(times) + " {\nloop i = 0 .. 16 {\n" +
           "dma_copy(dst=f, src=x.ap([[65536, 128], [1, 4096]], offset=4096*i))\n}\n}\n" +
           repeated(16, "dma_copy(dst=y.ap([[65536, 128], [1, 4096]], offset=4096*i), src=f)\n");
  };
  expect_advice("reload", pass(4), pass(1), "p.kiln:13");
}

// Work on a part of f, its copy in HBM, and a sum over four ranks.
std::string part_of_work(int columns, int part, int times) {
  const std::string tile =
      "f.ap(0:128, [[1, " + std::to_string(columns) + "]], offset=" + std::to_string(columns * part) + ")";
  std::string text;
  for (int i = 0; i < times; ++i) text += "activation(dst=" + tile + ", op=exp, data=" + tile + ")\n";
  return text;
}
std::string hbm_tensor(const std::string& name, int columns) {
  return "tensor " + name + ": shared_hbm float32 [128, " + std::to_string(columns) + "]\n";
}
std::string store(const std::string& name, int columns, int part) {
  return "dma_copy(dst=" + name + ", src=f.ap(0:128, [[1, " + std::to_string(columns) +
         "]], offset=" + std::to_string(columns * part) + "))\n";
}
std::string sum(const std::string& from, const std::string& to, const std::string& group = "[[0, 1, 2, 3]]") {
  return "all_reduce(srcs=[" + from + "], dsts=[" + to + "], replica_group=" + group + ", op=add)\n";
}

TEST(Advice, ExposedCommunication) {
  constexpr int kColumns = 256, kTimes = 50;
  std::string together = hbm_tensor("mine", 4 * kColumns) + hbm_tensor("all", 4 * kColumns), apart;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    together += part_of_work(kColumns, i, kTimes);
    apart += hbm_tensor("m" + n, kColumns) + hbm_tensor("a" + n, kColumns) + part_of_work(kColumns, i, kTimes) +
             store("m" + n, kColumns, i) + sum("m" + n, "a" + n);
  }
  together += store("mine", 4 * kColumns, 0) + sum("mine", "all");
  const Judged before = judge(together), after = judge(apart);
  const Advice* advice = before.find("exposed_communication");
  ASSERT_NE(advice, nullptr) << "total " << before.total_ns << " ns";
  EXPECT_EQ(advice->places.first.size(), 1u);
  EXPECT_EQ(after.find("exposed_communication"), nullptr) << "total " << after.total_ns << " ns";
  const double gained = before.total_ns - after.total_ns;
  EXPECT_NEAR(advice->gain_ns, gained, 0.2 * gained) << before.total_ns << " ns, then " << after.total_ns;
}

TEST(Advice, SmallMessages) {
  constexpr int kMessages = 8, kColumns = 4;
  const std::string far = "[[0, 40, 80, 120]]";  // devices of a diagonal: a step is up to four hops
  std::string many, one = hbm_tensor("mine", kMessages * kColumns) + hbm_tensor("all", kMessages * kColumns);
  for (int i = 0; i < kMessages; ++i) {
    const std::string n = std::to_string(i);  // each needs the one before
    many += hbm_tensor("m" + n, kColumns) + hbm_tensor("a" + n, kColumns) +
            (i == 0 ? store("m0", kColumns, 0) : "dma_copy(dst=m" + n + ", src=a" + std::to_string(i - 1) + ")\n") +
            sum("m" + n, "a" + n, far);
  }
  one += store("mine", kMessages * kColumns, 0) + sum("mine", "all", far);
  const Judged before = judge(many), after = judge(one);
  const Advice* advice = before.find("small_messages");
  ASSERT_NE(advice, nullptr) << "total " << before.total_ns << " ns";
  EXPECT_EQ(advice->places.first.size(), static_cast<std::size_t>(kMessages));
  EXPECT_EQ(after.find("small_messages"), nullptr);
  EXPECT_LE(advice->gain_ns, before.total_ns - after.total_ns);
  EXPECT_GE(advice->gain_ns, 0.5 * (before.total_ns - after.total_ns));
}

// A load that waits for work stands in the queue before a collective that needs none of it.
TEST(Advice, LateCollectives) {
  const std::string tensors = hbm_tensor("mine", 1024) + hbm_tensor("all", 1024);
  const std::string first = "dma_copy(dst=mine, src=x.ap([[65536, 128], [1, 1024]]))\n";
  const std::string work = part_of_work(4096, 0, 10);
  const std::string load = "dma_copy(dst=f, src=x.ap([[65536, 128], [1, 4096]]))\n";
  const Judged before = judge(tensors + first + work + load + sum("mine", "all"));
  const Judged after = judge(tensors + first + sum("mine", "all") + work + load);
  const Advice* advice = before.find("late_collectives");
  ASSERT_NE(advice, nullptr) << "total " << before.total_ns << " ns";
  EXPECT_EQ(after.find("late_collectives"), nullptr);
  const double gained = before.total_ns - after.total_ns;
  EXPECT_NEAR(advice->gain_ns, gained, 0.2 * gained) << before.total_ns << " ns, then " << after.total_ns;
}

// Written out, so that nothing is extrapolated.
std::string written_out(int times, const std::string& body) {
  std::string text;
  for (int i = 0; i < times; ++i) text += body;
  return text;
}

std::string matmul(const char* tile) {
  return "nc_matmul(dst=q, stationary=" + std::string(tile) + ".ap(0:128, [[1, 128]]), moving=" + tile +
         ".ap(0:128, [[1, 512]]), accumulate=false)\n";
}

TEST(Advice, LongProgramsAreTriedOnParts) {
  const std::string copy = "tensor_copy(dst=h.ap(0:128, [[1, 512]]), src=q)\n";
  const Judged before = judge(written_out(105'000, matmul("g") + copy));
  const isa::Program changed = program(written_out(105'000, matmul("k") + copy));
  const double gained =
      before.total_ns - timing::to_ns(timing::time_program(changed, {.reorder = false}).timeline.total);
  const Advice* advice = before.find("fp32_matmul");
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(advice->gain_ns, gained, 0.05 * gained);
  EXPECT_NE(advice->estimate.find("on 100000 of 210000 instructions"), std::string::npos) << advice->estimate;
}

// Faster matmuls shorten the parts that hold them, but the whole takes as long as the vector engine.
TEST(Advice, PartsKnowWhatTheWholeHides) {
  const Judged judged = judge(written_out(105'000, matmul("g")) +
                              written_out(105'000, "tensor_tensor(dst=f, data1=f, data2=f, op=add)\n"));
  EXPECT_EQ(judged.find("fp32_matmul"), nullptr);
}

// A loop that is too long runs as often as fits, and what is declared before is there.
TEST(Excerpt, HoldsAboutAsManyInstructionsAsAsked) {
  const isa::Program whole = program(
      "dma_copy(dst=f, src=x.ap([[65536, 128], [1, 4096]]))\nloop j = 0 .. 1000 {\nloop i = 0 .. 16 {\n"
      "dma_copy(dst=f.ap(0:128, [[1, 64]], offset=64*i), src=x.ap([[65536, 128], [1, 64]], offset=64*j))\n"
      "}\ntensor_tensor(dst=g, data1=f, data2=g, op=add)\n}\n");
  const std::int64_t trips[] = {1000, 16};
  const std::size_t loop = whole.body.size() - 1;
  ASSERT_EQ(whole.body[loop].kind, isa::Node::Kind::loop);
  const rewrite::Excerpt part = rewrite::excerpt_of(whole, trips, loop, 170);
  EXPECT_EQ(part.executed, 170);
  const timing::TimedRun run = timing::time_program(part.program);
  EXPECT_EQ(run.timeline.instructions, 170);
  ASSERT_EQ(part.instructions.size(), 2u);
  const isa::InstructionId both[] = {part.instructions[0], part.instructions[1]};
  EXPECT_EQ(rewrite::Excerpt::translate(both, part.instructions), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(whole.instructions[both[1]].opcode, isa::Opcode::tensor_tensor);
  ASSERT_EQ(part.tensors.size(), 3u);
  EXPECT_EQ(part.program.tensors[0].name, whole.tensors[part.tensors[0]].name);
}

TEST(Advice, RulesHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const AdviceRule& rule : advice_rules()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  EXPECT_EQ(names.size(), 10u);
}

TEST(Advice, LinesBeyondAHundredAreCounted) {
  std::string body;
  for (int i = 0; i < 250; ++i) body += "tensor_scalar(dst=f, data=f, op0=multiply, operand0=2.0)\n";
  const Judged judged = judge(body);
  const Advice* advice = judged.find("vector_fast_mode");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->places.first.size(), 100u);
  EXPECT_EQ(advice->places.left_out, 150u);
}

TEST(Advice, LargestGainFirst) {
  const Judged judged = judge(repeated(16,
                                       "dma_copy(dst=f, src=x.ap([[65536, 128], [1, 4096]], offset=4096*i))\n"
                                       "tensor_tensor(dst=f, data1=f, data2=f, op=add)\n"
                                       "tensor_scalar(dst=f, data=f, op0=multiply, operand0=2.0)\n"
                                       "dma_copy(dst=y.ap([[65536, 128], [1, 4096]], offset=4096*i), src=f)\n"));
  ASSERT_GE(judged.advice.size(), 2u);
  for (std::size_t i = 1; i < judged.advice.size(); ++i)
    EXPECT_GE(judged.advice[i - 1].gain_ns, judged.advice[i].gain_ns);
}

}  // namespace
}  // namespace kiln::advice
