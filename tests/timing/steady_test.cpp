// Loops that are extrapolated end exactly where they would have ended.
#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;

// c = a^T b by tiles, everything in rolled loops.
Program matmul(std::int64_t m_tiles, std::int64_t n_tiles, std::int64_t k_tiles, DType dtype) {
  Kernel k("matmul");
  const View a = k.input("a", {k_tiles * 128, m_tiles * 128}, dtype),
             b = k.input("b", {k_tiles * 128, n_tiles * 512}, dtype);
  const View c = k.output("c", {m_tiles * 128, n_tiles * 512}, dtype);
  k.loop(m_tiles, [&](Index m) {
    k.loop(n_tiles, [&](Index n) {
      const View sum = k.psum({128, 512}, kF32);
      k.loop(k_tiles, [&](Index i) {
        const View x = k.sbuf({128, 128}, dtype), y = k.sbuf({128, 512}, dtype);
        k.dma_copy({.dst = x, .src = a(ds(i * 128, 128), ds(m * 128, 128))});
        k.dma_copy({.dst = y, .src = b(ds(i * 128, 128), ds(n * 512, 512))});
        k.nc_matmul({.dst = sum, .stationary = x, .moving = y});
      });
      const View out = k.sbuf({128, 512}, dtype);
      k.tensor_copy({.dst = out, .src = sum});
      k.dma_copy({.dst = c(ds(m * 128, 128), ds(n * 512, 512)), .src = out});
    });
  });
  return k.finish();
}

void expect_same(const Program& p, const Arch& a) {
  const Timeline fast = simulate(p, a, {.reorder = false}),
                 slow = simulate(p, a, {.reorder = false, .extrapolate = false});
  EXPECT_FALSE(fast.gaps.empty());
  EXPECT_EQ(fast.total, slow.total);
  EXPECT_EQ(fast.instructions, slow.instructions);
  EXPECT_EQ(fast.hbm_bytes_read, slow.hbm_bytes_read);
  EXPECT_EQ(fast.macs, slow.macs);
  EXPECT_EQ(fast.dma_busy, slow.dma_busy);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(fast.lanes[i].busy, slow.lanes[i].busy) << fast.lanes[i].name;
    EXPECT_EQ(fast.lanes[i].executions, slow.lanes[i].executions) << fast.lanes[i].name;
    EXPECT_EQ(fast.lanes[i].active, slow.lanes[i].active) << fast.lanes[i].name;
  }
  Time sum = 0;
  for (const CriticalStep& s : fast.critical_path) sum += s.time;
  EXPECT_EQ(sum, fast.total);
}

TEST(Steady, Matmul) {
  for (const Arch* a : all_archs()) {
    SCOPED_TRACE(a->name);
    expect_same(matmul(256, 4, 32, kBf16), *a);
    expect_same(matmul(200, 8, 24, kF32), *a);
  }
}

// One loop writes tiles to HBM, the next reads them: what the second waits for lies in iterations that were
// left out.
Program two_phases(std::int64_t count, std::int64_t columns, bool slow_producer) {
  Kernel k("phases");
  const View in = k.input("in", {128, columns}, kF32), out = k.output("out", {count, 128, columns}, kF32);
  const View scratch = k.hbm({count, 128, columns}, kF32);
  k.loop(count, [&](Index i) {
    const View x = k.sbuf({128, columns}, kF32), y = k.sbuf({128, columns}, kF32);
    k.dma_copy({.dst = x, .src = in});
    k.activation({.dst = y, .op = ActFn::exp, .data = x});
    if (slow_producer) k.reciprocal({.dst = y, .data = y});
    k.dma_copy({.dst = scratch(i, all, all), .src = y});
  });
  k.loop(count, [&](Index i) {
    const View x = k.sbuf({128, columns}, kF32), y = k.sbuf({128, columns}, kF32);
    k.dma_copy({.dst = x, .src = scratch(i, all, all)});
    k.activation({.dst = y, .op = ActFn::exp, .data = x});
    k.dma_copy({.dst = out(i, all, all), .src = y});
  });
  return k.finish();
}

TEST(Steady, ALoopThatReadsWhatAnotherWrote) {
  for (const bool slow : {false, true}) expect_same(two_phases(20000, 512, slow), arch(Target::trn2));
}

// What comes after the loop needs a tile of an iteration that was left out, on engines that had nothing to do
// before.
TEST(Steady, WhatFollowsWaitsForIterationsThatWereLeftOut) {
  for (const auto& [tile, dge] : std::vector<std::pair<std::int64_t, DgeMode>>{{10, DgeMode::unknown},
                                                                               {30000, DgeMode::unknown},
                                                                               {10, DgeMode::swdge},
                                                                               {30000, DgeMode::swdge},
                                                                               {59990, DgeMode::swdge}}) {
    Kernel k("tail");
    constexpr std::int64_t kCount = 60000, kColumns = 512;
    const View out = k.output("out", {128, kColumns}, kF32), scratch = k.hbm({kCount, 128, kColumns}, kF32);
    const View zero = k.sbuf({128, kColumns}, kF32), last = k.sbuf({128, kColumns}, kF32);
    k.activation({.dst = zero, .op = ActFn::copy, .data = k.psum({128, kColumns}, kF32)});
    k.loop(kCount, [&](Index i) {
      const View x = k.sbuf({128, kColumns}, kF32);
      k.activation({.dst = x, .op = ActFn::exp, .data = zero});
      k.dma_copy({.dst = scratch(i, all, all), .src = x});
    });
    // Through gpsimd it need not queue behind the loop's stores.
    k.dma_copy({.dst = last, .src = scratch(tile, all, all), .dge_mode = dge});
    k.loop(20000, [&](Index) { k.reciprocal({.dst = last, .data = last}); });
    k.dma_copy({.dst = out, .src = last});
    SCOPED_TRACE(tile);
    expect_same(k.finish(), arch(Target::trn2));
  }
}

// Nested loops where only the inner one is long, and a tail that reads its last results.
TEST(Steady, InnerLoops) {
  Kernel k("inner");
  const View in = k.input("in", {128, 64}, kF32), out = k.output("out", {128, 64}, kF32);
  const View sum = k.sbuf({128, 64}, kF32);
  k.memset({.dst = sum, .value = 0.0});
  k.loop(3, [&](Index) {
    k.loop(50000, [&](Index) {
      const View x = k.sbuf({128, 64}, kF32);
      k.dma_copy({.dst = x, .src = in});
      k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = x, .op = AluOp::add});
    });
    k.activation({.dst = sum, .op = ActFn::exp, .data = sum});
  });
  k.dma_copy({.dst = out, .src = sum});
  const Program p = k.finish();
  for (const Arch* a : all_archs()) {
    SCOPED_TRACE(a->name);
    expect_same(p, *a);
  }
}

// The same statements with a loop and written out one by one.
TEST(Steady, RolledEqualsWrittenOut) {
  const auto make = [](bool rolled) {
    Kernel k("rows");
    constexpr std::int64_t kCount = 60;
    const View in = k.input("in", {kCount * 128, 512}, kBf16), out = k.output("out", {kCount * 128, 512}, kBf16);
    const View w = k.sbuf({128, 128}, kBf16);
    k.dma_copy({.dst = w, .src = in(ds(0, 128), ds(0, 128))});
    const auto body = [&](const Index& i) {
      const View x = k.sbuf({128, 512}, kBf16), y = k.sbuf({128, 512}, kBf16), sum = k.psum({128, 512}, kF32);
      k.dma_copy({.dst = x, .src = in(ds(i * 128, 128), all)});
      k.nc_matmul({.dst = sum, .stationary = w, .moving = x});
      k.activation({.dst = y, .op = ActFn::gelu, .data = sum});
      k.tensor_tensor({.dst = y, .data1 = y, .data2 = x, .op = AluOp::add});
      k.dma_copy({.dst = out(ds(i * 128, 128), all), .src = y});
    };
    if (rolled) {
      k.loop(kCount, body);
    } else {
      for (std::int64_t i = 0; i < kCount; ++i) body(Index(i));
    }
    return k.finish();
  };
  for (const Arch* a : all_archs()) {
    for (const bool reorder : {false, true}) {
      const Timeline rolled = simulate(make(true), *a, {.reorder = reorder});
      const Timeline written = simulate(make(false), *a, {.reorder = reorder});
      EXPECT_EQ(rolled.total, written.total) << a->name;
      ASSERT_EQ(rolled.events.size(), written.events.size());
      for (std::size_t i = 0; i < rolled.events.size(); ++i) EXPECT_EQ(rolled.events[i].start, written.events[i].start);
    }
  }
}

}  // namespace
}  // namespace kiln::timing
