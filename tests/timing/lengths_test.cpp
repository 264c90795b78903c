// A program with a loop that goes round more often takes as long as it takes when it is timed by itself.
#include "kiln/timing/lengths.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32;

// A product by tiles, and a loop after it that goes through `between` if it lies in HBM.
Program phases(bool scratch) {
  Kernel k("phases");
  const View a = k.input("a", {1024, 1024}, kF32), b = k.input("b", {1024, 512}, kF32),
             c = k.output("c", {1024, 512}, kF32);
  const View between = scratch ? k.hbm({1024, 512}, kF32) : c;
  k.loop(8, [&](Index m) {
    const View sum = k.psum({128, 512}, kF32);
    k.loop(8, [&](Index i) {
      const View x = k.sbuf({128, 128}, kF32), y = k.sbuf({128, 512}, kF32);
      k.dma_copy({.dst = x, .src = a(ds(i * 128, 128), ds(m * 128, 128))});
      k.dma_copy({.dst = y, .src = b(ds(i * 128, 128), all)});
      k.nc_matmul({.dst = sum, .stationary = x, .moving = y});
    });
    const View out = k.sbuf({128, 512}, kF32);
    k.tensor_copy({.dst = out, .src = sum});
    k.dma_copy({.dst = between(ds(m * 128, 128), all), .src = out});
  });
  const View kept = k.sbuf({128, 512}, kF32);
  k.memset({.dst = kept, .value = 0});
  k.loop(8, [&](Index m) {
    const View x = k.sbuf({128, 512}, kF32);
    k.dma_copy({.dst = x, .src = scratch ? between(ds(m * 128, 128), all) : b(ds(m * 128, 128), all)});
    k.tensor_tensor({.dst = kept, .data1 = kept, .data2 = x, .op = AluOp::add});
    if (scratch) k.dma_copy({.dst = c(ds(m * 128, 128), all), .src = kept});
  });
  if (!scratch) k.dma_copy({.dst = c(ds(0, 128), all), .src = kept});
  return k.finish();
}

Program with_passes(Program program, const MorePasses& more) {
  Loop& loop = program.loops[more.loop];
  loop.upper.value = loop.lower.value + loop.step * more.passes;
  return program;
}

void expect_like_simulate(const Length& length, const Program& program, const TimingOptions& options) {
  const Timeline t = simulate(program, arch(program.target), options);
  EXPECT_EQ(length.total, t.total);
  EXPECT_EQ(length.dma_busy, t.dma_busy);
}

TEST(Lengths, AreThoseOfSimulate) {
  for (const Arch* a : all_archs()) {
    for (const bool scratch : {false, true}) {
      for (const std::optional<bool> reorder : {std::optional<bool>(), std::optional(false), std::optional(true)}) {
        SCOPED_TRACE(std::string(a->name) + (scratch ? ", through HBM" : ""));
        Program written = phases(scratch);
        written.target = a->target;
        // Fewer passes as written: of the loop around, of the one in it, of the last one.
        const Program p = with_passes(with_passes(with_passes(written, {0, 3}), {1, 4}), {2, 2});
        const std::vector<MorePasses> more = {{0, 6}, {1, 8}, {2, 7}};
        TimingOptions options{.reorder = reorder};
        const std::optional<Lengths> all = lengths(p, *a, options, more);
        ASSERT_TRUE(all);
        EXPECT_EQ(all->reordered, reorder.value_or(all->reordered));
        expect_like_simulate(all->as_written, p, options);
        options.reorder = all->reordered;
        options.tries_program_order = false;
        for (std::size_t i = 0; i < more.size(); ++i)
          expect_like_simulate(all->longer[i], with_passes(p, more[i]), options);
      }
    }
  }
}

// Loops with hundreds of instructions, one after the other: of products, of what engines do in turn, of copies.
Program long_phases() {
  Kernel k("long_phases");
  const View a = k.input("a", {8192, 512}, kF32), b = k.input("b", {128, 512}, kF32);
  const View c = k.output("c", {8192, 512}, kF32), d = k.output("d", {8192, 512}, kF32);
  const View held = k.sbuf({128, 512}, kF32);
  k.dma_copy({.dst = held, .src = b});
  const auto rows = [](const View& v, const Index& i) { return v(ds(i * 128, 128), all); };
  k.loop(64, [&](Index i) {
    const View x = k.sbuf({128, 512}, kF32), sum = k.psum({128, 512}, kF32), out = k.sbuf({128, 512}, kF32);
    k.dma_copy({.dst = x, .src = rows(a, i)});
    for (int part = 0; part < 4; ++part)
      k.nc_matmul({.dst = sum, .stationary = x(all, ds(part * 128, 128)), .moving = held});
    k.tensor_copy({.dst = out, .src = sum});
    k.dma_copy({.dst = rows(c, i), .src = out});
  });
  k.loop(64, [&](Index i) {
    const View x = k.sbuf({128, 512}, kF32), y = k.sbuf({128, 512}, kF32);
    k.dma_copy({.dst = x, .src = rows(c, i)});
    k.activation({.dst = y, .op = ActFn::exp, .data = x});
    for (int times = 0; times < 3; ++times) k.tensor_tensor({.dst = y, .data1 = y, .data2 = x, .op = AluOp::add});
    k.dma_copy({.dst = rows(d, i), .src = y});
  });
  k.loop(64, [&](Index i) {
    for (int times = 0; times < 5; ++times) {
      const View x = k.sbuf({128, 512}, kF32);
      k.dma_copy({.dst = x, .src = rows(d, i)});
      k.dma_copy({.dst = rows(c, i), .src = x});
    }
  });
  return k.finish();
}

TEST(Lengths, AreKnownBeforeTheEndWhereTheRestOnlyComesLater) {
  for (const Arch* a : all_archs()) {
    for (const bool reorder : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", a->name, reorder ? "in another order" : "in program order"));
      Program p = long_phases();
      p.target = a->target;
      const std::vector<MorePasses> more = {{0, 128}, {1, 67}, {2, 64}, {2, 128}};
      TimingOptions options{.reorder = reorder};
      options.extrapolate = false;
      const std::optional<Lengths> all = lengths(p, *a, options, more);
      ASSERT_TRUE(all);
      expect_like_simulate(all->as_written, p, options);
      for (std::size_t i = 0; i < more.size(); ++i)
        expect_like_simulate(all->longer[i], with_passes(p, more[i]), options);
    }
  }
}

TEST(Lengths, NothingOfSeveralCoresOrLongPrograms) {
  const Program p = phases(false);
  EXPECT_FALSE(lengths(Launch({&p, &p}), arch(p.target), {}, {}));
  EXPECT_FALSE(lengths(with_passes(p, {2, 100'000}), arch(p.target), {}, {}));
}

}  // namespace
}  // namespace kiln::timing
