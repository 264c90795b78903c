// Micro-kernels against the formulas of the documents and the published traces: durations, intervals,
// bandwidth, fixed latencies. The figures are typed from there, not read from arch/.
#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;

std::vector<Event> events_of(const Timeline& t, Kind kind) {
  std::vector<Event> found;
  for (const Event& e : t.events) {
    if (e.kind == kind) found.push_back(e);
  }
  return found;
}

// `count` products into PSUM that do not wait for each other.
Program products(std::int64_t count, std::int64_t n, DType dtype, Target target = Target::trn2) {
  Kernel k("stream", target);
  k.fragment();
  const View s = k.input("s", {128, 128}, dtype, Memory::sbuf), m = k.input("m", {128, n}, dtype, Memory::sbuf);
  const View out = k.output("out", {128, n}, kF32, Memory::psum);
  k.loop(count, [&](Index) { k.nc_matmul({.dst = out, .stationary = s, .moving = m}); });
  return k.finish();
}

TEST(Formulas, MatmulsFollowAtTheArraysRate) {
  const Timeline t = simulate(products(1000, 512, kBf16), arch(Target::trn2));
  const Event &e = t.events[900], &f = t.events[901];
  EXPECT_NEAR(to_ns(f.start - e.start), 216, 2);  // initiation interval, full clock
  EXPECT_NEAR(to_ns(e.end - e.start), 379, 4);    // duration
}

TEST(Formulas, TheTensorEngineStartsAtHalfItsClock) {
  const Timeline t = simulate(products(100, 512, kBf16), arch(Target::trn2));
  EXPECT_NEAR(to_ns(t.events[1].start - t.events[0].start), 427, 5);
  EXPECT_NEAR(to_ns(t.events[0].end - t.events[0].start), 632, 5);
  std::size_t first_fast = 1;
  while (t.events[first_fast + 1].start - t.events[first_fast].start > 300 * kPicoseconds) ++first_fast;
  const double warm_up = to_ns(t.events[first_fast].start - t.events[0].start);
  EXPECT_GT(warm_up, 3000);  // windows of about 3.4 us: full rate after 3.6 to 6.7 us
  EXPECT_LT(warm_up, 6900);
  const Timeline gen2 = simulate(products(100, 512, kBf16, Target::trn1), arch(Target::trn1));
  EXPECT_EQ(gen2.events[1].start - gen2.events[0].start, gen2.events[99].start - gen2.events[98].start);
}

TEST(Formulas, Float32TakesFourTimesAsLong) {
  const Timeline t = simulate(products(200, 512, kF32), arch(Target::trn2));
  EXPECT_NEAR(to_ns(t.events[150].start - t.events[149].start), 858, 4);
}

// A short pass takes less time than the 191 ns that loading takes.
TEST(Formulas, Float32PassesOfAnOperandThatWasThereHideItsLoads) {
  const Timeline t = simulate(products(400, 128, kF32), arch(Target::trn2));
  EXPECT_NEAR(to_ns(t.events[2].start - t.events[1].start), 2 * 213, 12);  // at half the clock
  EXPECT_NEAR(to_ns(t.events[350].start - t.events[349].start), 2 * 111, 6);
}

// What attention on trn2 shows: each operand is there for the first time.
TEST(Formulas, Float32PassesOfNewOperandsWaitForTheirLoads) {
  Kernel k("stream");
  k.fragment();
  const View s = k.input("s", {128, 256}, kF32, Memory::sbuf), m = k.input("m", {128, 128}, kF32, Memory::sbuf);
  const View out = k.output("out", {128, 128}, kF32, Memory::psum);
  k.loop(200, [&](Index) {
    for (std::int64_t i = 0; i < 2; ++i) k.nc_matmul({.dst = out, .stationary = s(all, ds(i * 128, 128)), .moving = m});
  });
  const Timeline t = simulate(k.program(), arch(Target::trn2));
  EXPECT_NEAR(to_ns(t.events[350].start - t.events[349].start), 2 * 191, 6);
}

// A product that waits for its moving operand holds up the load behind it.
TEST(Formulas, NoLoadOvertakesAProductThatWaits) {
  const auto gap = [](bool waits) {
    Kernel k("waits");
    k.fragment();
    const View s = k.input("s", {128, 128}, kBf16, Memory::sbuf), m = k.input("m", {128, 64}, kBf16, Memory::sbuf);
    const View x = k.inout("x", {128, 64}, kBf16, Memory::sbuf), out = k.output("out", {128, 64}, kF32, Memory::psum);
    k.tensor_copy({.dst = x, .src = m, .engine = Engine::gpsimd});
    k.nc_matmul({.dst = out, .stationary = s, .moving = m});
    k.nc_matmul({.dst = out, .stationary = s, .moving = waits ? x : m});
    k.nc_matmul({.dst = out, .stationary = s, .moving = m});
    const std::vector<Event> done = events_of(simulate(k.program(), arch(Target::trn2)), Kind::execute);
    return to_ns(done[3].start - done[2].start);
  };
  EXPECT_NEAR(gap(false), 64 / 1.2, 5);  // at half the clock: the pass before
  EXPECT_NEAR(gap(true), 97 + 41, 2);    // the load, with what the lower clock adds
}

TEST(Formulas, DoubleRowTakesNoLongerForTwiceTheDepth) {
  Kernel k("double_row");
  k.fragment();
  const DType fp8 = DType::float8_e4m3;
  const View s = k.input("s", {128, 2, 128}, fp8, Memory::sbuf), m = k.input("m", {128, 2, 512}, fp8, Memory::sbuf);
  const View out = k.output("out", {128, 512}, kF32, Memory::psum);
  k.loop(200, [&](Index) {
    k.nc_matmul({.dst = out, .stationary = s, .moving = m, .perf_mode = MatmulPerfMode::double_row});
  });
  const Timeline t = simulate(k.program(), arch(Target::trn2));
  EXPECT_NEAR(to_ns(t.events[150].start - t.events[149].start), 216, 2);
}

TEST(Formulas, SmallTilesOfTheArrayRunSideBySide) {
  const auto time = [](bool apart) {
    Kernel k("quadrants");
    k.fragment();
    const View s = k.input("s", {128, 32}, kBf16, Memory::sbuf), m = k.input("m", {128, 512}, kBf16, Memory::sbuf);
    std::vector<View> out;
    for (int q = 0; q < 4; ++q) out.push_back(k.output("out" + std::to_string(q), {32, 512}, kF32, Memory::psum));
    k.loop(100, [&](Index) {
      for (std::int64_t q = 0; q < 4; ++q) {
        const std::int64_t row = apart ? q * 32 : 0;
        k.nc_matmul({.dst = out[static_cast<std::size_t>(q)],
                     .stationary = s(ds(row, 32), all),
                     .moving = m(ds(row, 32), all),
                     .tile_position = {row, 0},
                     .tile_size = {32, 32}});
      }
    });
    return simulate(k.program(), arch(Target::trn2)).total;
  };
  EXPECT_LT(static_cast<double>(time(true)), 0.5 * static_cast<double>(time(false)));
}

TEST(Formulas, FastModesOfTheVectorEngine) {
  const auto interval = [](DType dtype, Memory src, std::int64_t step) {
    Kernel k("copies");
    k.fragment();
    const View in = k.input("in", {128, 1024}, dtype, src), out = k.output("out", {128, 1024}, dtype, Memory::sbuf);
    k.loop(4, [&](Index) { k.tensor_copy({.dst = out(all, ds(0, 512, step)), .src = in(all, ds(0, 512, step))}); });
    const Timeline t = simulate(k.program(), arch(Target::trn2));
    return to_ns(t.events[3].start - t.events[2].start);
  };
  const double fixed = 69;  // 154 ns of latency, of which the next instruction skips 85
  EXPECT_NEAR(interval(kBf16, Memory::sbuf, 1), 512 / 4 / 0.96 + fixed, 2);
  EXPECT_NEAR(interval(kBf16, Memory::sbuf, 2), 512 / 2 / 0.96 + fixed, 2);
  EXPECT_NEAR(interval(kBf16, Memory::psum, 1), 512 / 2 / 0.96 + fixed, 2);
  EXPECT_NEAR(interval(kF32, Memory::sbuf, 1), 512 / 2 / 0.96 + fixed, 2);
  EXPECT_NEAR(interval(kF32, Memory::psum, 1), 512 / 0.96 + fixed, 2);
}

TEST(Formulas, ALoadThatGatesAnInstruction) {
  Kernel k("gate");
  const View in = k.input("in", {128, 512}, kF32), out = k.output("out", {128, 512}, kF32);
  const View x = k.sbuf({128, 512}, kF32), y = k.sbuf({128, 512}, kF32);
  k.dma_copy({.dst = x, .src = in, .dge_mode = DgeMode::hwdge, .engine = Engine::sync});
  k.tensor_copy({.dst = y, .src = x, .engine = Engine::scalar});
  k.dma_copy({.dst = out, .src = y, .dge_mode = DgeMode::hwdge, .engine = Engine::sync});
  const Timeline t = simulate(k.program(), arch(Target::trn2));
  const Event trigger = events_of(t, Kind::trigger)[0], load = events_of(t, Kind::transfer)[0];
  const Event copy = events_of(t, Kind::execute)[0];
  EXPECT_EQ(trigger.start, 0);
  EXPECT_NEAR(to_ns(load.start), 1331, 1);             // trigger to first byte
  EXPECT_NEAR(to_ns(copy.start - load.end), 350, 35);  // last byte to the waiting instruction: 320 to 380
  EXPECT_NEAR(to_ns(trigger.end - trigger.start), 545, 1);
}

// Loads of `bytes` per partition, 128 partitions, as fast as they go.
double bytes_per_ns(std::int64_t bytes, Target target, DgeMode dge) {
  Kernel k("loads", target);
  const View in = k.input("in", {128, bytes}, DType::uint8), out = k.output("out", {128, bytes}, DType::uint8);
  constexpr std::int64_t kCount = 64;
  std::vector<View> tiles;
  k.loop(kCount, [&](Index) {
    const View tile = k.sbuf({128, bytes}, DType::uint8);
    k.dma_copy({.dst = tile, .src = in, .dge_mode = dge});
  });
  const View last = k.sbuf({128, bytes}, DType::uint8);
  k.dma_copy({.dst = last, .src = in, .dge_mode = dge});
  k.dma_copy({.dst = out, .src = last, .dge_mode = dge});
  const Timeline t = simulate(k.program(), arch(target));
  const std::vector<Event> moved = events_of(t, Kind::transfer);
  return static_cast<double>(kCount / 2 * 128 * bytes) / to_ns(moved[kCount - 1].end - moved[kCount / 2 - 1].end);
}

TEST(Formulas, LargeLoadsReachTheSustainedBandwidth) {
  EXPECT_NEAR(bytes_per_ns(4096, Target::trn1, DgeMode::none), 16 * 17,
              16);  // the documents' 17, 23 and 33 B/ns
  EXPECT_NEAR(bytes_per_ns(4096, Target::trn2, DgeMode::hwdge), 16 * 23, 16);
  EXPECT_NEAR(bytes_per_ns(4096, Target::trn3, DgeMode::hwdge), 16 * 33, 32);
}

TEST(Formulas, SmallLoadsAreBoundByTheirTriggers) {
  const double each = 128.0 * 256 / bytes_per_ns(256, Target::trn2, DgeMode::hwdge);
  EXPECT_NEAR(each, 600, 10);  // "about 600 ns" per hardware DGE
}

TEST(Formulas, AFewPartitionsUseAFewEngines) {
  const auto transfer = [](std::int64_t rows, std::int64_t bytes) {
    Kernel k("rows");
    const View in = k.input("in", {rows, bytes}, DType::uint8), out = k.output("out", {rows, bytes}, DType::uint8);
    const View tile = k.sbuf({rows, bytes}, DType::uint8);
    k.dma_copy({.dst = tile, .src = in});
    k.dma_copy({.dst = out, .src = tile});
    const Event e = events_of(simulate(k.program(), arch(Target::trn2)), Kind::transfer)[0];
    return to_ns(e.end - e.start);
  };
  EXPECT_NEAR(transfer(4, 8192), 1416, 1416 * 0.15);  // one engine: 32 KiB at about 23 B/ns
  EXPECT_NEAR(transfer(128, 256), 468, 468 * 0.15);   // the same bytes over 16 engines
}

TEST(Formulas, TableOfActivationFunctionsIsLoadedOnce) {
  Kernel k("table");
  k.fragment();
  const View x = k.input("x", {128, 64}, kF32, Memory::sbuf), y = k.output("y", {128, 64}, kF32, Memory::sbuf);
  for (int i = 0; i < 3; ++i) k.activation({.dst = y, .op = ActFn::exp, .data = x});
  k.activation({.dst = y, .op = ActFn::tanh, .data = x});
  const Timeline t = simulate(k.program(), arch(Target::trn2));
  EXPECT_NEAR(to_ns(t.events[0].start), 1283, 1);
  EXPECT_EQ(t.events[2].start - t.events[1].start, t.events[1].start - t.events[0].start);
  EXPECT_NEAR(to_ns(t.events[3].start - t.events[2].start - t.events[2].occupied), 1283, 1);
}

}  // namespace
}  // namespace kiln::timing
