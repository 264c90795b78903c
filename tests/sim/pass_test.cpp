// Errors of a run tell the pass of the loops that they happened in.
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

std::string pass_of(const Diagnostic& d) {
  for (const Fact& fact : d.facts) {
    if (fact.label == "pass") return fact.text;
  }
  return {};
}

// Rows of x by index; index 77 of row 3 leads outside.
struct Gather {
  static constexpr std::int64_t kRows = 4, kColumns = 100;
  static std::vector<std::int32_t> indices() {
    std::vector<std::int32_t> all(kRows * kColumns, 0);
    all[3 * kColumns + 77] = 64;
    return all;
  }
};

TEST(Pass, StaticLoopsByTheNamesOfTheirVariables) {
  for (const int threads : {1, 4}) {
    Kernel k("gather");
    const View x = k.input("x", {64, 8}, DType::float32), y = k.output("y", {1, 8}, DType::float32);
    const View at = k.input("at", {Gather::kRows, Gather::kColumns}, DType::int32);
    k.loop(Gather::kRows, [&](Index i) {
      k.loop(Gather::kColumns, [&](Index j) {
        const View index = k.sbuf({1, 1}, DType::int32);
        k.dma_copy({.dst = index, .src = at(ds(i, 1), ds(j, 1))});
        const View t = k.sbuf({1, 8}, DType::float32);
        k.dma_copy({.dst = t, .src = x(ds(0, 1)).scalar_offset(index, 8)});
        k.dma_copy({.dst = y, .src = t});
      });
    });
    KernelRun run(k);
    run.set("x", counting(64 * 8)).set("at", Gather::indices());
    const Diagnostic d = run.error({.threads = threads});
    EXPECT_EQ(d.code, "run.R3");
    const auto& loops = run.program.loops;
    EXPECT_EQ(pass_of(d), loops[0].variable + "=3, " + loops[1].variable + "=77") << threads;
    EXPECT_TRUE(has(to_text(d), "= pass: ")) << to_text(d);
  }
}

// The value is computed by another thread, long after the loops have gone on.
TEST(Pass, OfAnInstructionWhoseValuesComeLater) {
  for (const int threads : {1, 2, 4}) {
    Kernel k("later");
    const View x = k.input("x", {8 * 128, 512}, DType::float32), y = k.output("y", {8 * 128, 512}, DType::float32);
    k.loop(8, [&](Index i) {
      const View t = k.sbuf({128, 512}, DType::float32);
      k.dma_copy({.dst = t, .src = x(ds(i * 128, 128))});
      k.reciprocal({.dst = t, .data = t});
      k.dma_copy({.dst = y(ds(i * 128, 128)), .src = t});
    });
    KernelRun run(k);
    Floats in(8 * 128 * 512, 1.0f);
    for (const int i : {5, 7}) in[i * 128 * 512 + 40] = 0;
    run.set("x", in);
    const Diagnostic d = run.error({.threads = threads, .nan = NanMode::error});
    EXPECT_EQ(d.code, "run.R15");
    EXPECT_EQ(pass_of(d), run.program.loops[0].variable + "=5") << threads;
    EXPECT_TRUE(has(d.found, "element [0, 40]")) << d.found;
  }
}

TEST(Pass, LoopsOnRegisters) {
  Kernel k("registers");
  const View x = k.input("x", {64, 8}, DType::float32), y = k.output("y", {1, 8}, DType::float32);
  const View count = k.input("count", {1, 1}, DType::int32);
  const View n = k.sbuf({1, 1}, DType::int32);
  k.dma_copy({.dst = n, .src = count});
  const isa::Reg end = k.reg();
  k.register_load({.dst = end, .src = n});
  k.fori_loop(8, end, [&](isa::Reg i) {
    const View t = k.sbuf({1, 8}, DType::float32);
    k.dma_copy({.dst = t, .src = x(ds(0, 1)).scalar_offset(i, 8)});
    k.dma_copy({.dst = y, .src = t});
  });
  KernelRun run(k);
  run.set("x", counting(64 * 8)).set("count", std::vector<std::int32_t>{100});
  const Diagnostic d = run.error();
  EXPECT_EQ(d.code, "run.R3");
  EXPECT_EQ(pass_of(d), run.program.loops[0].variable + "=64");
}

TEST(Pass, LoopsOnAConditionCountTheirPasses) {
  Kernel k("condition");
  const View x = k.inout("x", {1, 1}, DType::int32);
  const View n = k.sbuf({1, 1}, DType::int32);
  k.dma_copy({.dst = n, .src = x});
  const isa::Reg left = k.reg();
  k.register_load({.dst = left, .src = n});
  k.while_loop(left, [&] { k.register_load({.dst = left, .src = n}); });
  KernelRun run(k);
  run.set("x", std::vector<std::int32_t>{1});
  const Diagnostic d = run.error({.threads = 1, .max_passes = 50});
  EXPECT_EQ(d.code, "run.R5");
  EXPECT_TRUE(has(pass_of(d), "pass 51 of while ")) << pass_of(d);
}

TEST(Pass, OfTheStoreThatBroughtUnwrittenBytesOut) {
  Kernel k("unwritten");
  const View y = k.output("y", {4 * 128, 8}, DType::float32);
  k.loop(4, [&](Index i) {
    const View t = k.sbuf({128, 8}, DType::float32);
    k.dma_copy({.dst = y(ds(i * 128, 128)), .src = t});
  });
  KernelRun run(k);
  const Diagnostic d = run.error();
  EXPECT_EQ(d.code, "run.R1");
  EXPECT_EQ(pass_of(d), run.program.loops[0].variable + "=3");
}

TEST(Pass, NothingIsSaidWithoutLoops) {
  Kernel k("straight");
  const View y = k.output("y", {128, 8}, DType::float32);
  k.dma_copy({.dst = y, .src = k.sbuf({128, 8}, DType::float32)});
  EXPECT_EQ(pass_of(KernelRun(k).error()), "");
}

// Whoever unrolled loops knows better.
TEST(Pass, WordsOfTheCaller) {
  Kernel k("unrolled");
  const View x = k.input("x", {128, 8}, DType::float32), y = k.output("y", {128, 8}, DType::float32);
  const View t = k.sbuf({128, 8}, DType::float32);
  k.dma_copy({.dst = t, .src = x});
  isa::InstructionId divides = 0;
  k.loop(2, [&](Index) { divides = k.reciprocal({.dst = t, .data = t}).id(); });
  k.dma_copy({.dst = y, .src = t});
  KernelRun run(k);
  run.set("x", Floats(128 * 8, 0.0f));
  int calls = 0;
  const RunReport report =
      run.run({.threads = 1, .describe_pass = [&](int core, isa::InstructionId id, const NamedPass& p) {
                 ++calls;
                 EXPECT_EQ(core, 0);
                 EXPECT_EQ(id, divides);
                 EXPECT_EQ(p.size(), 1u);
                 EXPECT_EQ(p.at(0).value, 0);
                 return std::string("i=3, j=77");
               }});
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(pass_of(report.warnings[0]), "i=3, j=77");
}

}  // namespace
}  // namespace kiln::sim
