// The machine: loops, storages, hand-placed tensors, PSUM, buffers, registers, and the first error for any
// number of threads.
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

TEST(Machine, IterationsOverlapWithoutMixingTheirTiles) {
  constexpr std::int64_t kSteps = 40, kColumns = 512;
  Kernel k("rename");
  const View x = k.input("x", {kSteps * 128, kColumns}, DType::float32);
  const View y = k.output("y", {kSteps * 128, kColumns}, DType::float32);
  k.loop(kSteps, [&](Index i) {
    const View t = k.sbuf({128, kColumns}, DType::float32);
    k.dma_copy({.dst = t, .src = x(ds(i * 128, 128))});
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 3});
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::add, .operand0 = 1});
    k.dma_copy({.dst = y(ds(i * 128, 128)), .src = t});
  });
  KernelRun run(k);
  const Floats in = counting(kSteps * 128 * kColumns);
  Floats wanted = in;
  for (float& v : wanted) v = v * 3 + 1;
  run.set("x", in);
  for (const int threads : {1, 2, 4, 7}) {
    run.run({.threads = threads});
    ASSERT_EQ(run.get("y"), wanted) << threads;
  }
}

TEST(Machine, CountsInstructions) {
  Kernel k("count");
  const View x = k.inout("x", {128, 4}, DType::float32);
  k.loop(5, [&](Index) {
    const View t = k.sbuf({128, 4}, DType::float32);
    k.dma_copy({.dst = t, .src = x});
    k.tensor_copy({.dst = t(all, ds(0, 2)), .src = t(all, ds(2, 2))});
  });
  const RunReport report = KernelRun(k).run();
  EXPECT_EQ(report.instructions, 10);
  EXPECT_EQ(report.instructions_by_engine[static_cast<int>(Engine::dma)], 5);
  EXPECT_EQ(report.instructions_by_engine[static_cast<int>(Engine::vector)], 5);
}

// A load is seen although nothing needs its copy; so is a tile that lies in the midst of SBUF.
TEST(Machine, WatchedInstructionsAreSeenAtEveryExecution) {
  Kernel k("watched");
  const View x = k.input("x", {3 * 2, 64}, DType::float32), y = k.output("y", {3 * 2, 64}, DType::float32);
  const View placed = k.sbuf({2, 64}, DType::float32, {.address = isa::Address{32, 256}});
  isa::InstructionId load = 0, sum = 0;
  k.loop(3, [&](Index i) {
    const View t = k.sbuf({2, 64}, DType::float32);
    load = k.dma_copy({.dst = t, .src = x(ds(i * 2, 2))}).id();
    sum = k.tensor_scalar({.dst = placed(all, ds(1, 63)), .data = t(all, ds(1, 63)), .op0 = AluOp::add, .operand0 = 1})
              .id();
    k.dma_copy({.dst = y(ds(i * 2, 2), ds(1, 63)), .src = placed(all, ds(1, 63))});
  });
  KernelRun run(k);
  const Floats in = counting(3 * 2 * 64);
  run.set("x", in);
  for (const int threads : {1, 4}) {
    std::map<isa::InstructionId, int> times;
    const auto see = [&](const Sight& s) {
      const int step = times[s.instruction]++;
      ASSERT_EQ(s.bytes.size(), 2 * 64 * sizeof(float));
      Floats values(2 * 64);
      std::memcpy(values.data(), s.bytes.data(), s.bytes.size());
      for (int e = 0; e < 2 * 64; ++e) {
        const bool missing = s.instruction == sum && e % 64 == 0;
        EXPECT_EQ(s.is_missing[e * sizeof(float)], missing);
        if (missing) continue;
        EXPECT_EQ(values[e], in[step * 2 * 64 + e] + (s.instruction == sum));
      }
    };
    run.run({.threads = threads, .watched = {{load, sum}}, .see = see});
    EXPECT_EQ(times[load], 3);
    EXPECT_EQ(times[sum], 3);
  }
}

TEST(Machine, TensorsAtOneAddressAreAUnion) {
  Kernel k("union");
  const View x = k.input("x", {128, 4}, DType::float32), y = k.output("y", {128, 8}, DType::uint16);
  const View words = k.sbuf({128, 4}, DType::float32, {.address = isa::Address{0, 64}});
  const View halves = k.sbuf({128, 8}, DType::uint16, {.address = isa::Address{0, 64}});
  k.dma_copy({.dst = words, .src = x});
  k.dma_copy({.dst = y, .src = halves});
  KernelRun run(k);
  const Floats in = counting(128 * 4, 0.37f);
  run.set("x", in);
  for (const int threads : {1, 4}) {
    run.run({.threads = threads});
    std::vector<std::uint16_t> wanted(128 * 8);
    std::memcpy(wanted.data(), in.data(), in.size() * sizeof(float));
    EXPECT_EQ(run.get<std::uint16_t>("y"), wanted);
  }
}

// Two slots of a ring are loaded in turns and read through one window over both.
Kernel& ring(Kernel& k, bool fill_both) {
  const View x = k.input("x", {128, 6 * 512}, DType::float32), y = k.output("y", {128, 6 * 512}, DType::float32);
  const View slots[] = {k.sbuf({128, 512}, DType::float32, {.name = "first", .address = isa::Address{0, 0}}),
                        k.sbuf({128, 512}, DType::float32, {.name = "second", .address = isa::Address{0, 2048}})};
  const View window = k.sbuf({128, 1024}, DType::float32, {.name = "window", .address = isa::Address{0, 0}});
  for (int i = 0; i < 6; i += 2) {
    k.dma_copy({.dst = slots[0], .src = x(all, ds(i * 512, 512))});
    if (fill_both) k.dma_copy({.dst = slots[1], .src = x(all, ds((i + 1) * 512, 512))});
    k.tensor_scalar({.dst = window, .data = window, .op0 = AluOp::add, .operand0 = 1});
    k.dma_copy({.dst = y(all, ds(i * 512, 1024)), .src = window});
  }
  return k;
}

TEST(Machine, ARingBufferKeepsItsOrder) {
  Kernel k("ring");
  KernelRun run(ring(k, true));
  const Floats in = counting(128 * 6 * 512);
  Floats wanted = in;
  for (float& v : wanted) v += 1;
  run.set("x", in);
  for (const int threads : {1, 2, 4}) {
    run.run({.threads = threads});
    ASSERT_EQ(run.get("y"), wanted) << threads;
  }
}

TEST(Machine, ASlotThatNobodyFillsIsReported) {
  Kernel k("ring");
  const Diagnostic d = KernelRun(ring(k, false)).error();
  EXPECT_EQ(d.code, "run.R1");
  EXPECT_TRUE(has(d.found, "element [0, 512] of `y` depends on bytes of `window`")) << d.found;
}

// Of several windows over a byte that nobody wrote, the one that is read is named, not the one declared last;
// what it held moves on under that name, even back to where it came from.
TEST(Machine, AByteThatNobodyWroteHasTheNameItIsReadUnder) {
  for (const std::int64_t offset : {0, 8, 16}) {
    for (const bool home : {true, false}) {
      Kernel k("windows");
      const View y = k.output("y", {128, 4}, DType::float32);
      const auto at = [&](const char* name, std::int64_t byte_offset) {
        return k.sbuf({128, 4}, DType::float32, {.name = name, .address = isa::Address{0, byte_offset}});
      };
      const View read = at("read", 0), copy = at("copy", 64), later = at("later", offset);
      at("over_the_copy", 64);
      k.tensor_copy({.dst = copy, .src = read});
      k.tensor_copy({.dst = later, .src = copy});
      k.dma_copy({.dst = y, .src = home ? later : copy});
      const Diagnostic d = KernelRun(k).error();
      EXPECT_EQ(d.code, "run.R1");
      EXPECT_TRUE(has(d.found, "bytes of `read`")) << offset << ' ' << home << ' ' << d.found;
    }
  }
}

TEST(Machine, PsumAccumulatesOverALoopAndStartsAfreshWithItsDeclaration) {
  Kernel k("psum");
  const View a = k.input("a", {3 * 4 * 128, 16}, DType::float32), y = k.output("y", {3 * 16, 16}, DType::float32);
  const View ones = k.sbuf({128, 16}, DType::float32);
  k.memset({.dst = ones, .value = 1});
  k.loop(3, [&](Index i) {
    const View p = k.psum({16, 16}, DType::float32);
    k.loop(4, [&](Index j) {
      const View t = k.sbuf({128, 16}, DType::float32);
      k.dma_copy({.dst = t, .src = a(ds(i * 512 + j * 128, 128))});
      k.nc_matmul({.dst = p, .stationary = t, .moving = ones});
    });
    const View out = k.sbuf({16, 16}, DType::float32);
    k.tensor_copy({.dst = out, .src = p});
    k.dma_copy({.dst = y(ds(i * 16, 16)), .src = out});
  });
  KernelRun run(k);
  const Floats in = counting(3 * 4 * 128 * 16);
  run.set("a", in);
  Floats wanted(3 * 16 * 16);  // whole numbers below 2^24: exact in any order
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t m = 0; m < 16; ++m) {
      float sum = 0;
      for (std::int64_t row = 0; row < 512; ++row) sum += in[(i * 512 + row) * 16 + m];
      for (std::int64_t n = 0; n < 16; ++n) wanted[(i * 16 + m) * 16 + n] = sum;
    }
  }
  for (const int threads : {1, 2, 4}) {
    run.run({.threads = threads});
    ASSERT_EQ(run.get("y"), wanted) << threads;
  }
}

TEST(Machine, AMatmulOverwritesWhatAnotherInstructionWrote) {
  Kernel k("psum");
  const View y = k.output("y", {16, 8}, DType::float32), ones = k.sbuf({128, 16}, DType::float32);
  k.memset({.dst = ones, .value = 1});
  const View p = k.psum({16, 8}, DType::float32), out = k.sbuf({16, 8}, DType::float32);
  const View moving = ones(all, ds(0, 8));
  k.nc_matmul({.dst = p, .stationary = ones, .moving = moving});
  k.memset({.dst = p(all, ds(0, 4)), .value = 100});  // the first half starts again, the second goes on
  k.nc_matmul({.dst = p, .stationary = ones, .moving = moving});
  k.tensor_copy({.dst = out, .src = p});
  k.dma_copy({.dst = y, .src = out});
  KernelRun run(k);
  run.run();
  for (std::int64_t i = 0; i < 16 * 8; ++i) EXPECT_EQ(run.get("y")[i], i % 8 < 4 ? 128 : 256) << i;
}

Kernel& copying(Kernel& k) {
  const View x = k.input("x", {128, 4}, DType::float32), y = k.output("y", {128, 4}, DType::float32);
  const View t = k.sbuf({128, 4}, DType::float32);
  k.dma_copy({.dst = t, .src = x});
  k.dma_copy({.dst = y, .src = t});
  return k;
}

TEST(Machine, EveryTensorOfTheCallerNeedsItsBuffer) {
  Kernel k("buffers");
  KernelRun run(copying(k));
  for (const char* name : {"x", "y"}) {
    const auto missing = run.arrays.extract(name);
    Diagnostic d = run.error();
    EXPECT_EQ(d.code, "run.R6");
    EXPECT_EQ(d.category, Category::config);
    EXPECT_TRUE(has(d.found, std::string("`") + name + "`")) << d.found;
    for (const int bytes : {0, 2047, 2049}) {
      run.arrays[name].resize(bytes);
      d = run.error();
      EXPECT_EQ(d.code, "run.R6");
      EXPECT_TRUE(has(d.found, "needs 2048 bytes")) << d.found;
    }
    run.arrays[name].resize(2048);
  }
  EXPECT_EQ(run.error().code, "");
}

TEST(Machine, ADynamicLoopHasALimit) {
  Kernel k("dynamic");
  const View x = k.inout("x", {1, 4}, DType::float32), t = k.sbuf({1, 4}, DType::float32);
  k.dma_copy({.dst = t, .src = x});
  const int line = __LINE__ + 1;
  k.fori_loop(0, 10, [&](isa::Reg) { k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::add, .operand0 = 1}); });
  k.dma_copy({.dst = x, .src = t});
  KernelRun run(k);
  run.set("x", Floats{0, 1, 2, 3});
  for (const std::int64_t limit : {1, 9}) {
    const Diagnostic d = run.error({.threads = 1, .max_passes = limit});
    EXPECT_EQ(d.code, "run.R5");
    EXPECT_EQ(d.loc.line, line);
  }
  EXPECT_EQ(run.error({.threads = 1, .max_passes = 10}).code, "");
  EXPECT_EQ(run.get("x"), (Floats{10, 11, 12, 13}));
}

TEST(Machine, ARegisterIsWrittenBeforeItIsRead) {
  for (const int use : {0, 1, 2, 3}) {
    for (const bool written : {true, false}) {
      Kernel k("register");
      const View x = k.input("x", {128, 8}, DType::float32), y = k.output("y", {128, 2}, DType::float32);
      const View t = k.sbuf({128, 8}, DType::float32);
      k.dma_copy({.dst = t, .src = x});
      const isa::Reg r = k.reg(written ? isa::OptInt(0) : isa::OptInt());
      const int line = __LINE__ + 1;
      if (use == 0) k.dma_copy({.dst = t(all, ds(0, 2)), .src = x(all, ds(0, 2)).scalar_offset(r, 1)});
      if (use == 1) k.while_loop(r, [&] { k.register_move({.dst = r, .src = 0}); });
      if (use == 2) k.fori_loop(0, r, [](isa::Reg) {});
      if (use == 3) k.register_move({.dst = k.reg(), .src = r});
      k.dma_copy({.dst = y, .src = t(all, ds(0, 2))});
      const Diagnostic d = KernelRun(k).error();
      EXPECT_EQ(d.code, written ? "" : "run.R4") << "use " << use;
      EXPECT_EQ(d.loc.line, written ? 0 : line + use);
    }
  }
}

TEST(Machine, AnAddressKnownLateMayNotOverlapInPart) {
  for (const std::int32_t offset : {0, 1, 3, 4, 5, 8}) {
    Kernel k("late");
    const View a = k.inout("a", {128, 16}, DType::float32), i = k.input("i", {1, 1}, DType::int32);
    const View t = k.sbuf({128, 16}, DType::float32), at = k.sbuf({1, 1}, DType::int32);
    k.dma_copy({.dst = t, .src = a});
    k.dma_copy({.dst = at, .src = i});
    k.tensor_tensor({.dst = t(all, ds(0, 4)),
                     .data1 = t(all, ds(0, 4)).scalar_offset(at, 1),
                     .data2 = t(all, ds(12, 4)),
                     .op = AluOp::add});
    k.dma_copy({.dst = a, .src = t});
    KernelRun run(k);
    run.set("a", counting(128 * 16)).set("i", std::vector<std::int32_t>{offset});
    const bool overlaps = offset > 0 && offset < 4;
    for (const int threads : {1, 2}) EXPECT_EQ(run.error({.threads = threads}).code, overlaps ? "run.R8" : "");
  }
}

TEST(Machine, TensorsPlacedOverEachOtherMayNotOverlapInPart) {
  for (const std::int64_t offset : {0, 32, 64, 128}) {
    Kernel k("placed");
    const View a = k.inout("a", {128, 32}, DType::float32), i = k.input("i", {1, 1}, DType::int32);
    const View x = k.sbuf({128, 16}, DType::float32, {.address = isa::Address{0, 0}});
    const View y = k.sbuf({128, 32}, DType::float32, {.address = isa::Address{0, offset}});
    const View at = k.sbuf({1, 1}, DType::int32);
    k.dma_copy({.dst = at, .src = i});
    k.dma_copy({.dst = x, .src = a(all, ds(0, 16))});
    k.dma_copy({.dst = y, .src = a});
    k.tensor_scalar({.dst = x,
                     .data = y(all, ds(0, 16)).scalar_offset(at, 1),  // what does not move, the check compares
                     .op0 = AluOp::add,
                     .operand0 = 1});
    const bool overlaps = offset > 0 && offset < 64;
    KernelRun run(k);
    run.set("i", std::vector<std::int32_t>{0});
    EXPECT_EQ(run.error().code, overlaps ? "run.R8" : "") << offset;
  }
}

TEST(Machine, ALoopMayNotMoveASourceIntoItsDestination) {
  for (const bool overlaps : {true, false}) {
    Kernel k("moving");
    const View a = k.inout("a", {128, 64}, DType::float32), t = k.sbuf({128, 64}, DType::float32);
    k.dma_copy({.dst = t, .src = a});
    k.loop(overlaps ? 4 : 3, [&](Index i) {
      k.tensor_copy({.dst = t(all, ds(0, 16)), .src = t(all, ds(48 - i * 12, 16))});  // 48, 36, 24, 12
    });
    k.dma_copy({.dst = a, .src = t});
    EXPECT_EQ(KernelRun(k).error().code, overlaps ? "run.R8" : "");
  }
}

// A matmul that fails on its values, slowly, and after it a failure that shows when it is issued.
TEST(Machine, TheFirstErrorIsTheSameForAnyNumberOfThreads) {
  for (const bool first_fails : {true, false}) {
    for (const int threads : {1, 2, 4}) {
      for (int round = 0; round < 5; ++round) {
        Kernel k("first");
        const View x = k.input("x", {128, 128}, DType::float32), y = k.output("y", {128, 512}, DType::float32);
        const View s = k.sbuf({128, 128}, DType::float32), m = k.sbuf({128, 512}, DType::float32);
        const View p = k.psum({128, 512}, DType::float32), never = k.sbuf({128, 512}, DType::float32);
        k.dma_copy({.dst = s, .src = x});
        k.memset({.dst = m, .value = 1});
        for (int i = 0; i < 8; ++i) k.nc_matmul({.dst = p, .stationary = s, .moving = m});
        k.nc_matmul({.dst = p, .stationary = s, .moving = m, .is_stationary_onezero = true});
        k.dma_copy({.dst = y, .src = never});
        KernelRun run(k);
        Floats in(128 * 128, 1.0f);
        if (first_fails) in[17] = 5;
        const Diagnostic d = run.set("x", in).error({.threads = threads});
        EXPECT_EQ(d.code, first_fails ? "nc_matmul.R22" : "run.R1") << threads << " threads";
      }
    }
  }
}

TEST(Machine, AWarningOfALoopIsToldOnce) {
  Kernel k("warning", Target::trn3);
  const View y = k.output("y", {16, 512}, DType::float32);
  const View ones = k.sbuf({128, 512}, DType::float32), p = k.psum({16, 512}, DType::float32);
  const View out = k.sbuf({16, 512}, DType::float32);
  k.memset({.dst = ones, .value = 1});
  k.loop(20, [&](Index) {
    k.memset({.dst = p, .value = 0});
    k.nc_matmul({.dst = p, .stationary = ones(all, ds(0, 16)), .moving = ones, .accumulate = true});
  });
  k.tensor_copy({.dst = out, .src = p});
  k.dma_copy({.dst = y, .src = out});
  KernelRun run(k);
  for (const int threads : {1, 4}) {
    const std::vector<Diagnostic> warnings = run.run({.threads = threads}).warnings;
    ASSERT_EQ(warnings.size(), 1u) << to_text(warnings);
    EXPECT_EQ(warnings[0].code, "nc_matmul.R21");
  }
}

}  // namespace
}  // namespace kiln::sim
