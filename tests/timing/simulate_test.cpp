// The model as a whole: determinism, trip counts, what-if, memory, pairs, ports, the list scheduler.
#include "kiln/timing/simulate.h"

#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "tests/error_of.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;

// x -> exp(x) by tiles of `columns`, `count` of them.
Program tiles(std::int64_t count, std::int64_t columns, Target target = Target::trn2) {
  Kernel k("tiles", target);
  const View in = k.input("in", {128, count * columns}, kF32), out = k.output("out", {128, count * columns}, kF32);
  k.loop(count, [&](Index i) {
    const View x = k.sbuf({128, columns}, kF32), y = k.sbuf({128, columns}, kF32);
    k.dma_copy({.dst = x, .src = in(all, ds(i * columns, columns))});
    k.activation({.dst = y, .op = ActFn::exp, .data = x});
    k.dma_copy({.dst = out(all, ds(i * columns, columns)), .src = y});
  });
  return k.finish();
}

TEST(Simulate, SameInputSameAnswer) {
  const Program p = tiles(40, 512);
  for (const bool reorder : {false, true}) {
    const Timeline a = simulate(p, arch(Target::trn2), {.reorder = reorder});
    const Timeline b = simulate(p, arch(Target::trn2), {.reorder = reorder});
    ASSERT_EQ(a.events.size(), b.events.size());
    for (std::size_t i = 0; i < a.events.size(); ++i) {
      EXPECT_EQ(a.events[i].start, b.events[i].start);
      EXPECT_EQ(a.events[i].end, b.events[i].end);
      EXPECT_EQ(a.events[i].lane, b.events[i].lane);
    }
  }
}

// The sequencer goes on while the trigger of its DMA is still under way: that time counts once.
TEST(Simulate, ALaneIsBusyForNoLongerThanTheProgramRuns) {
  for (const Arch* a : all_archs()) {
    Kernel k("triggered", a->target);
    const View in = k.input("in", {128, 8}, kF32), x = k.sbuf({128, 8}, kF32);
    k.dma_copy({.dst = x, .src = in});
    const Reg r = k.reg(0);
    for (int i = 0; i < 100; ++i) k.register_move({.dst = r, .src = i});
    const Timeline t = simulate(k.finish(), *a);
    for (const Lane& lane : t.lanes) EXPECT_LE(lane.busy, t.total) << a->name << ' ' << lane.name;
  }
}

TEST(Simulate, CountsWhatMoves) {
  const Timeline t = simulate(tiles(8, 512), arch(Target::trn2));
  const double bytes = 8 * 128 * 512 * 4;
  EXPECT_EQ(t.hbm_bytes_read, bytes);
  EXPECT_EQ(t.hbm_bytes_written, bytes);
  EXPECT_EQ(t.compulsory_bytes, 2 * bytes);
  EXPECT_EQ(t.instructions, 24);
  EXPECT_LE(t.band.low, t.total);
  EXPECT_GE(t.band.high, t.total);
}

TEST(Simulate, CriticalPathAddsUpToTheTotal) {
  for (const std::int64_t count : {1, 3, 40}) {
    const Timeline t = simulate(tiles(count, 512), arch(Target::trn2));
    Time sum = 0;
    for (const CriticalStep& s : t.critical_path) sum += s.time;
    EXPECT_EQ(sum, t.total) << count;
    EXPECT_EQ(t.events[t.critical_path.back().event].end, t.total) << count;
  }
}

// Two tiles of 100 KiB per partition do not fit twice, so the second load waits for the first tile's last
// reader.
TEST(Simulate, MemoryThatIsTakenHasToBeGivenBack) {
  const Timeline small = simulate(tiles(4, 512), arch(Target::trn2), {.reorder = false}),
                 large = simulate(tiles(4, 24 * 1024), arch(Target::trn2), {.reorder = false});
  const auto waits = [](const Timeline& t) {
    return std::count_if(t.events.begin(), t.events.end(), [](const Event& e) { return e.wait == Wait::memory; });
  };
  EXPECT_EQ(waits(small), 0);
  EXPECT_GT(waits(large), 0);
  EXPECT_GT(waits(simulate(tiles(4, 24 * 1024), arch(Target::trn2), {.reorder = true})), 0);
  std::int64_t peak = 0;
  for (const MemorySample& s : large.memory) peak = std::max(peak, s.sbuf_bytes);
  EXPECT_LE(peak, arch(Target::trn2).sbuf_partition_bytes);
}

TEST(Simulate, DynamicLoopsNeedTheirTripCount) {
  Kernel k("dynamic");
  const View in = k.input("in", {1, 1}, DType::int32), x = k.input("x", {128, 64}, kF32);
  const View out = k.output("out", {128, 64}, kF32), tile = k.sbuf({128, 64}, kF32);
  const Reg n = k.reg();
  k.register_load({.dst = n, .src = in});
  k.dma_copy({.dst = tile, .src = x});
  k.fori_loop(0, n, [&](Reg) { k.tensor_scalar({.dst = tile, .data = tile, .op0 = AluOp::add, .operand0 = 1.0}); });
  k.dma_copy({.dst = out, .src = tile});
  Program p = k.finish();
  const Diagnostic d = error_of([&] { simulate(p, arch(Target::trn2)); });
  EXPECT_EQ(d.code, "timing.trip_count");
  EXPECT_EQ(d.category, Category::config);
  std::string name = p.loops[0].variable.empty() ? p.registers[p.loops[0].reg].name : p.loops[0].variable;
  for (const auto& [given, count] : {std::pair<std::string, int>{"nobody", 5}, {name, -1}}) {
    const TimingOptions wrong{.trip_counts = {{given, count}}};
    EXPECT_EQ(error_of([&] { simulate(p, arch(Target::trn2), wrong); }).code, "timing.known_loop") << given;
  }
  const Timeline five = simulate(p, arch(Target::trn2), {.trip_counts = {{name, 5}}});
  const Timeline six = simulate(p, arch(Target::trn2), {.trip_counts = {{name, 6}}});
  EXPECT_EQ(six.instructions, five.instructions + 1);
  EXPECT_GT(six.total, five.total);
  p.loops[0].usual = 6;  // what is given counts more than what is usual
  EXPECT_EQ(simulate(p, arch(Target::trn2)).total, six.total);
  EXPECT_EQ(simulate(p, arch(Target::trn2), {.trip_counts = {{name, 5}}}).total, five.total);
  ASSERT_EQ(five.trip_counts.size(), 1u);
  EXPECT_EQ(five.trip_counts[0].count, 5);
  EXPECT_TRUE(std::any_of(five.events.begin(), five.events.end(), [](const Event& e) { return e.wait == Wait::loop; }));
}

TEST(Simulate, WhatIf) {
  const Program p = tiles(64, 2048);
  const Timeline as_is = simulate(p, arch(Target::trn2));
  const Timeline twice = simulate(p, arch(Target::trn2), {.what_if = {parse_what_if("dma_bandwidth=2x")}});
  EXPECT_LT(twice.total, as_is.total);
  EXPECT_EQ(simulate(p, arch(Target::trn2), {.what_if = {parse_what_if("gpsimd_clock=2x")}}).total, as_is.total);
  EXPECT_EQ(error_of([] { parse_what_if("dma_speed=2x"); }).code, "timing.what_if");
  EXPECT_EQ(error_of([] { parse_what_if("dma_bandwidth=fast"); }).code, "timing.what_if");
  EXPECT_EQ(error_of([] { parse_what_if("dma_bandwidth=0"); }).code, "timing.what_if");
  EXPECT_EQ(error_of([] { parse_what_if("dma_bandwidth"); }).code, "timing.what_if");
}

TEST(WhatIf, EveryConstantIsReadAndSet) {
  for (const Constant& c : constants()) {
    Arch a = arch(Target::trn2);
    const double before = c.get(a);
    c.set(a, before * 2);
    EXPECT_DOUBLE_EQ(c.get(a), before * 2) << c.name;
    EXPECT_FALSE(c.text.empty());
  }
}

TEST(Simulate, GivesUpWhenCancelled) {
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(error_of([&] { simulate(tiles(2000, 64), arch(Target::trn2), {.cancel = &cancel}); }).code,
            "timing.cancelled");
}

TEST(Simulate, KeepsNoMoreEventsThanAsked) {
  const Program p = tiles(40, 512);
  const Timeline all_events = simulate(p, arch(Target::trn2)),
                 few = simulate(p, arch(Target::trn2), {.keep_events = 10});
  EXPECT_EQ(few.events.size(), 10u);
  EXPECT_EQ(few.events_left_out, static_cast<std::int64_t>(all_events.events.size()) - 10);
  EXPECT_EQ(few.total, all_events.total);
}

// On gen2 the vector engine and gpsimd take turns at SBUF; from gen3 on only fast modes do.
TEST(Simulate, SharedPortOfVectorAndGpsimd) {
  const auto total = [](Target target) {
    Kernel k("port", target);
    k.fragment();
    const View x = k.input("x", {128, 2048}, kF32, Memory::sbuf), y = k.output("y", {128, 2048}, kF32, Memory::sbuf);
    const View z = k.output("z", {128, 2048}, kF32, Memory::sbuf);
    k.tensor_tensor({.dst = y, .data1 = x, .data2 = x, .op = AluOp::add, .engine = Engine::vector});
    k.tensor_tensor({.dst = z, .data1 = x, .data2 = x, .op = AluOp::add, .engine = Engine::gpsimd});
    const Timeline t = simulate(k.program(), arch(target));
    return std::pair(t.events[1].start, t.events[1].wait);
  };
  EXPECT_EQ(total(Target::trn2), std::pair(Time{0}, Wait::none));
  EXPECT_GT(total(Target::trn1).first, 0);
  EXPECT_EQ(total(Target::trn1).second, Wait::port);
}

// From gen3 on the vector and the scalar engine get in each other's way only in the same bank of PSUM.
TEST(Simulate, BanksOfPsum) {
  const auto second = [](std::int64_t byte) {
    Kernel k("banks");
    k.fragment();
    const View x = k.psum({128, 256}, kF32, {.address = Address{0, 0}});
    const View y = k.psum({128, 256}, kF32, {.address = Address{0, byte}});
    const View a = k.output("a", {128, 256}, kF32, Memory::sbuf), b = k.output("b", {128, 256}, kF32, Memory::sbuf);
    k.tensor_copy({.dst = a, .src = x});
    k.tensor_copy({.dst = b, .src = y, .engine = Engine::scalar});
    return simulate(k.program(), arch(Target::trn2)).events[1];
  };
  EXPECT_EQ(second(1024).wait, Wait::port);
  EXPECT_GT(second(1024).start, 0);
  EXPECT_EQ(second(2048).start, 0);
}

// Two loops through HBM: the first stores four tiles, the second loads them.
TEST(Simulate, TheListSchedulerWaitsForLoopsThroughHbm) {
  Kernel k("two_loops");
  const View in = k.input("in", {4, 128, 512}, DType::float32), out = k.output("out", {4, 128, 512}, DType::float32);
  const View between = k.hbm({4, 128, 512}, DType::float32);
  for (const auto& [to, from] : {std::pair(between, in), std::pair(out, between)}) {
    k.loop(4, [&, to = to, from = from](Index i) {
      const View tile = k.sbuf({128, 512}, DType::float32);
      k.dma_copy({.dst = tile, .src = from(i, all, all)});
      k.dma_copy({.dst = to(i, all, all), .src = tile});
    });
  }
  const auto loads_after = [&](bool reorder) {
    TimingOptions options;
    options.reorder = reorder;
    const Timeline t = simulate(k.program(), arch(Target::trn2), options);
    Time last_store = 0, first_load = t.total;
    for (const Event& e : t.events) {
      if (e.inst == 1 && e.kind == Kind::transfer) last_store = std::max(last_store, e.end);
      if (e.inst == 2 && e.kind == Kind::trigger) first_load = std::min(first_load, e.start);
    }
    return first_load >= last_store;
  };
  EXPECT_TRUE(loads_after(true));
  EXPECT_FALSE(loads_after(false));  // in order, a tile waits for its own bytes only
}

// The scheduler may start the second product while the first one's results are still being worked on.
TEST(Simulate, ListSchedulerFillsGaps) {
  Kernel k("chains");
  k.fragment();
  const View a = k.input("a", {128, 128}, kBf16, Memory::sbuf), b = k.input("b", {128, 512}, kBf16, Memory::sbuf);
  const View out = k.output("out", {128, 512}, kF32, Memory::psum);
  k.loop(8, [&](Index) {
    const View sum = k.psum({128, 512}, kF32), e = k.sbuf({128, 512}, kBf16);
    k.nc_matmul({.dst = sum, .stationary = a, .moving = b});
    k.activation({.dst = e, .op = ActFn::exp, .data = sum});
    k.nc_matmul({.dst = out, .stationary = a, .moving = e});
  });
  const Program p = k.finish();
  const Timeline in_order = simulate(p, arch(Target::trn2), {.reorder = false}),
                 reordered = simulate(p, arch(Target::trn2), {.reorder = true});
  EXPECT_LT(reordered.total, in_order.total);
  EXPECT_EQ(reordered.instructions, in_order.instructions);
  EXPECT_EQ(reordered.macs, in_order.macs);
  // Who does not say gets what `kiln time` tells.
  const Timeline unsaid = simulate(p, arch(Target::trn2));
  EXPECT_TRUE(unsaid.reordered);
  EXPECT_EQ(unsaid.total, reordered.total);
}

// Left open, descriptors are made by hardware where the manual lets it: no conversion, few shapes of
// transposes.
TEST(Simulate, DescriptorsThatAreLeftOpen) {
  const auto trigger = [](Target target, DType dtype, DgeMode mode, bool transposes) {
    Kernel k("open", target);
    const View in = k.input("in", {64, 128}, kBf16), out = k.output("out", {128, 64}, dtype);
    const View x = transposes ? k.sbuf({128, 64}, dtype) : k.sbuf({64, 128}, dtype);
    if (transposes) {
      k.dma_transpose({.dst = x, .src = in, .dge_mode = mode});
    } else {
      k.dma_copy({.dst = x, .src = in, .dge_mode = mode});
    }
    k.dma_copy({.dst = transposes ? out : out.reshape({64, 128}), .src = x});
    return simulate(k.finish(), arch(target)).events.front().occupied;
  };
  for (const Target target : {Target::trn2, Target::trn3}) {
    const Time hardware = trigger(target, kBf16, DgeMode::hwdge, false),
               prebuilt = trigger(target, kBf16, DgeMode::none, false);
    ASSERT_NE(hardware, prebuilt);
    EXPECT_EQ(trigger(target, kBf16, DgeMode::unknown, false), hardware);
    EXPECT_EQ(trigger(target, kF32, DgeMode::unknown, false), prebuilt);  // converts
    EXPECT_EQ(trigger(target, kBf16, DgeMode::unknown, true), prebuilt);  // 64 rows, not 16
  }
}

TEST(Simulate, LongProgramsKeepTheirOrder) {
  const Program p = tiles(40, 512);  // 120 instructions
  const Timeline in_order = simulate(p, arch(Target::trn2), {.reorder = false}),
                 reordered = simulate(p, arch(Target::trn2), {.reorder = true});
  const Timeline longer = simulate(p, arch(Target::trn2), {.reorder_up_to = 119}),
                 fitting = simulate(p, arch(Target::trn2), {.reorder_up_to = 120});
  EXPECT_FALSE(longer.reordered);
  EXPECT_TRUE(fitting.reordered);
  EXPECT_EQ(longer.total, in_order.total);
  EXPECT_EQ(fitting.total, reordered.total);
  EXPECT_GT(static_cast<double>(in_order.band.high) / static_cast<double>(in_order.total),
            static_cast<double>(reordered.band.high) / static_cast<double>(reordered.total));
}

Program half_of_pair(int rank, std::int64_t columns) {
  Kernel k("half");
  k.pair();
  const std::string suffix = std::to_string(rank);
  const View in = k.input("in" + suffix, {128, columns}, kF32), out = k.output("out" + suffix, {128, columns}, kF32);
  const View x = k.sbuf({128, columns}, kF32), y = k.sbuf({128, columns}, kF32);
  k.dma_copy({.dst = x, .src = in});
  k.sendrecv({.src = x, .dst = y, .send_to_rank = 1 - rank, .recv_from_rank = 1 - rank, .pipe_id = 0});
  k.dma_copy({.dst = out, .src = y});
  return k.finish();
}

Program in_pair(Program program) {
  program.lnc = 2;
  return program;
}

TEST(Simulate, CoresOfAPairMeet) {
  const Program quick = half_of_pair(0, 256), slow = half_of_pair(1, 256);
  const Timeline t = simulate(Launch({&quick, &slow}), arch(Target::trn2));
  std::vector<Time> met;
  for (const Event& e : t.events) {
    if (e.wait == Wait::peer) met.push_back(e.start);
  }
  ASSERT_EQ(met.size(), 2u);
  EXPECT_EQ(met[0], met[1]);
  EXPECT_EQ(t.lanes.front().core, 0);
  EXPECT_EQ(t.lanes.back().core, 1);
  EXPECT_GT(t.total, simulate(tiles(1, 256), arch(Target::trn2)).total);
}

TEST(Simulate, ACoreThatMissesTheMeetingIsToldOf) {
  const Program first = half_of_pair(0, 256), other = in_pair(tiles(1, 256));
  EXPECT_EQ(error_of([&] { simulate(Launch({&first, &other}), arch(Target::trn2)); }).code, "timing.deadlock");
}

// Two cores that stream share one HBM stack, which is slower than both their DMA engines together.
TEST(Simulate, PairsShareHbm) {
  const Program a = in_pair(tiles(64, 4096));
  const Launch two({&a, &a});
  const Timeline both = simulate(two, arch(Target::trn2));
  EXPECT_GT(both.total, simulate(a, arch(Target::trn2)).total);
  // Neither core gets ahead of the other, however fast DMA is.
  const Timeline faster = simulate(two, arch(Target::trn2), {.what_if = {parse_what_if("dma_bandwidth=4x")}});
  EXPECT_LE(faster.total, both.total);
  Time ends[2] = {};
  for (const Event& e : faster.events) {
    Time& end = ends[faster.lanes[e.lane].core];
    end = std::max(end, e.end);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

}  // namespace
}  // namespace kiln::timing
