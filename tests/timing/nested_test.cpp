// Loops around loops that are extrapolated: exact where everything can be simulated, and an answer where it cannot.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "kiln/isa/builder/builder.h"
#include "kiln/timing/simulate.h"
#include "tests/error_of.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32;
constexpr std::int64_t kNoLimit = kMostTimingLimit;

// All loops watched, however short the program, against everything simulated.
void expect_same(const isa::Launch& launch, const Arch& a, bool transfers_in_gaps = false) {
  const Timeline fast = simulate(launch, a, {.reorder = false, .nested_from = 0}),
                 slow = simulate(launch, a, {.reorder = false, .extrapolate = false, .limit = kNoLimit});
  EXPECT_FALSE(fast.gaps.empty());
  EXPECT_LT(fast.events.size(), slow.events.size());
  EXPECT_EQ(fast.total, slow.total);
  EXPECT_EQ(fast.instructions, slow.instructions);
  EXPECT_EQ(fast.hbm_bytes_read, slow.hbm_bytes_read);
  EXPECT_EQ(fast.macs, slow.macs);
  if (!transfers_in_gaps) {  // which others of the left-out passes overlap
    EXPECT_EQ(fast.dma_busy, slow.dma_busy);
  }
  ASSERT_GE(fast.lanes.size(), 6);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(fast.lanes[i].busy, slow.lanes[i].busy) << fast.lanes[i].name;
    EXPECT_EQ(fast.lanes[i].executions, slow.lanes[i].executions) << fast.lanes[i].name;
    EXPECT_EQ(fast.lanes[i].active, slow.lanes[i].active) << fast.lanes[i].name;
  }
  std::vector<std::int64_t> executed[2];
  for (const Timeline* t : {&fast, &slow}) {
    std::vector<std::int64_t>& by_instruction = executed[t == &slow];
    for (const Event& e : t->events) {
      by_instruction.resize(std::max<std::size_t>(by_instruction.size(), e.inst + 1));
      if (t->lanes[e.lane].core == 0 && e.kind != Kind::trigger) by_instruction[e.inst] += e.repeats;
    }
  }
  EXPECT_EQ(executed[0], executed[1]);
  Time sum = 0;
  for (const CriticalStep& s : fast.critical_path) sum += s.time;
  EXPECT_EQ(sum, fast.total);
}

// x is worked on in `depth` loops of `count` passes, once in each pass of the innermost and, when asked for, once in
// each pass of the others.
Program nest(int depth, std::int64_t count, bool in_between, Target target = Target::trn2) {
  Kernel k("nest", target);
  const View in = k.input("in", {128, 64}, kF32), out = k.output("out", {128, 64}, kF32);
  const View x = k.sbuf({128, 64}, kF32);
  k.dma_copy({.dst = x, .src = in});
  const std::function<void(int)> loop = [&](int left) {
    k.loop(count, [&](Index) {
      if (in_between || left == 1) k.reciprocal({.dst = x, .data = x});
      if (left > 1) loop(left - 1);
    });
  };
  loop(depth);
  k.dma_copy({.dst = out, .src = x});
  return k.finish();
}

TEST(Nested, SameAsEverythingSimulated) {
  for (const Arch* a : all_archs()) {
    SCOPED_TRACE(a->name);
    for (const bool in_between : {false, true}) {
      expect_same(nest(2, 400, in_between, a->target), *a);
      expect_same(nest(3, 56, in_between, a->target), *a);
    }
  }
}

// A product whose loops all load something, with tiles that are taken anew in each pass.
TEST(Nested, Matmul) {
  for (const auto& [m, n, k_tiles] : {std::array{40, 30, 40}, std::array{12, 100, 50}}) {
    Kernel k("matmul");
    const View a = k.input("a", {k_tiles * 128, m * 128}, kF32), b = k.input("b", {k_tiles * 128, n * 512}, kF32);
    const View c = k.output("c", {m * 128, n * 512}, kF32);
    k.loop(m, [&](Index i) {
      const View row = k.sbuf({128, 64}, kF32);
      k.dma_copy({.dst = row, .src = a(ds(0, 128), ds(i * 128, 64))});
      k.loop(n, [&](Index j) {
        const View sum = k.psum({128, 512}, kF32);
        k.loop(k_tiles, [&](Index l) {
          const View x = k.sbuf({128, 128}, kF32), y = k.sbuf({128, 512}, kF32);
          k.dma_copy({.dst = x, .src = a(ds(l * 128, 128), ds(i * 128, 128))});
          k.dma_copy({.dst = y, .src = b(ds(l * 128, 128), ds(j * 512, 512))});
          k.nc_matmul({.dst = sum, .stationary = x, .moving = y});
        });
        const View o = k.sbuf({128, 512}, kF32);
        k.activation({.dst = o, .op = ActFn::exp, .data = sum});
        k.dma_copy({.dst = c(ds(i * 128, 128), ds(j * 512, 512)), .src = o});
      });
    });
    const Program p = k.finish();
    for (const Arch* arch : all_archs()) {
      SCOPED_TRACE(arch->name);
      expect_same(p, *arch);
    }
  }
}

// What comes after the loops reads a tile that was written in a pass of both that was left out, on an engine that had
// nothing to do before.
TEST(Nested, WhatFollowsWaitsForPassesThatWereLeftOut) {
  constexpr std::int64_t kOuter = 200, kInner = 300;
  for (const auto& [i, j] : {std::array{100, 150}, std::array{0, 0}, std::array{199, 150}, std::array{100, 299},
                             std::array{150, 2}, std::array{199, 299}}) {
    SCOPED_TRACE(testing::Message() << i << ", " << j);
    Kernel k("tail");
    const View out = k.output("out", {128, 64}, kF32), scratch = k.hbm({kOuter, kInner, 128, 64}, kF32);
    const View zero = k.sbuf({128, 64}, kF32), last = k.sbuf({128, 64}, kF32);
    k.activation({.dst = zero, .op = ActFn::copy, .data = k.psum({128, 64}, kF32)});
    k.loop(kOuter, [&](Index outer) {
      k.activation({.dst = zero, .op = ActFn::exp, .data = zero});
      k.loop(kInner, [&](Index inner) {
        const View x = k.sbuf({128, 64}, kF32);
        k.activation({.dst = x, .op = ActFn::exp, .data = zero});
        k.dma_copy({.dst = scratch(outer, inner, all, all), .src = x});
      });
    });
    k.dma_copy({.dst = last, .src = scratch(i, j, all, all), .dge_mode = DgeMode::swdge});
    k.loop(20000, [&](Index) { k.reciprocal({.dst = last, .data = last}); });
    k.dma_copy({.dst = out, .src = last});
    expect_same(k.finish(), arch(Target::trn2), true);
  }
}

TEST(Nested, LoopsOnRegisters) {
  Kernel k("dynamic");
  const View in = k.input("in", {128, 64}, kF32), out = k.output("out", {128, 64}, kF32);
  const View x = k.sbuf({128, 64}, kF32);
  k.dma_copy({.dst = x, .src = in});
  k.fori_loop(0, 300, [&](Reg) {
    k.fori_loop(0, 400, [&](Reg) { k.reciprocal({.dst = x, .data = x}); });
    k.fori_loop(0, 7, [&](Reg) {});
    k.activation({.dst = x, .op = ActFn::exp, .data = x});
  });
  k.dma_copy({.dst = out, .src = x});
  const Program p = k.finish();
  for (const Arch* a : all_archs()) expect_same(p, *a);
}

// The cores of a pair meet between loops, and in a loop.
TEST(Nested, Pairs) {
  const auto core = [](std::int64_t rank) {
    Kernel k("pair");
    const View in = k.input("in", {128, 64}, kF32), out = k.output("out", {2, 128, 64}, kF32);
    const View x = k.sbuf({128, 64}, kF32);
    k.dma_copy({.dst = x, .src = in});
    k.loop(4, [&](Index) {
      k.loop(300, [&](Index) {
        k.loop(200, [&](Index) { k.reciprocal({.dst = x, .data = x}); });
        k.activation({.dst = x, .op = ActFn::exp, .data = x});
      });
      k.core_barrier({.data = out, .cores = {0, 1}});
    });
    k.dma_copy({.dst = out(rank, all, all), .src = x});
    Program p = k.finish();
    p.lnc = 2;
    return p;
  };
  const Program a = core(0), b = core(1);
  expect_same(Launch({&a, &b}), arch(Target::trn2));
}

// Loops of a few kinds of instructions on tiles that are declared here or there, with addresses that move with any of
// the variables.
class RandomNest {
 public:
  explicit RandomNest(unsigned seed) : random_(seed), k_("random") {}

  Program make() {
    in_ = k_.input("in", {64, 128, 64}, kF32);
    out_ = k_.output("out", {64, 128, 64}, kF32);
    for (int i = 0; i < 3; ++i) tiles_.push_back(k_.sbuf({128, 64}, kF32));
    for (const View& tile : tiles_) k_.dma_copy({.dst = tile, .src = in_(0, all, all)});
    const int depth = pick(2, 3);
    loop(depth, depth == 2 ? 60 : 40);
    statement();
    k_.dma_copy({.dst = out_(63, all, all), .src = tiles_[0]});
    return k_.finish();
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void loop(int left, int most) {
    const std::int64_t count = left == 1 ? pick(1200, 2400) / (most == 40 ? 16 : 1) : pick(most / 2, most);
    k_.loop(count, [&](Index i) {
      variables_.push_back(count <= 60 ? Index(i) : Index(0));
      const std::size_t declared = tiles_.size();
      if (pick(0, 1)) {
        tiles_.push_back(k_.sbuf({128, 64}, kF32));
        k_.dma_copy({.dst = tiles_.back(), .src = in_(place(), all, all)});
      }
      for (int n = pick(left == 1 ? 1 : 0, 2); n > 0; --n) statement();
      if (left > 1) loop(left - 1, most);
      for (int n = pick(0, 1); n > 0; --n) statement();
      tiles_.resize(declared);
      variables_.pop_back();
    });
  }

  Index place() {
    if (variables_.empty()) return Index(0);
    return variables_[static_cast<std::size_t>(pick(0, static_cast<int>(variables_.size()) - 1))];
  }
  const View& tile() { return tiles_[static_cast<std::size_t>(pick(0, static_cast<int>(tiles_.size()) - 1))]; }

  void statement() {
    switch (pick(0, 4)) {
      case 0:
        return void(k_.reciprocal({.dst = tile(), .data = tile()}));
      case 1:
        return void(k_.activation({.dst = tile(), .op = ActFn::exp, .data = tile()}));
      case 2:
        return void(k_.tensor_tensor({.dst = tile(), .data1 = tile(), .data2 = tile(), .op = AluOp::add}));
      case 3:
        return void(k_.dma_copy({.dst = tile(), .src = in_(place(), all, all)}));
      default:
        return void(k_.dma_copy({.dst = out_(place(), all, all), .src = tile()}));
    }
  }

  std::mt19937 random_;
  Kernel k_;
  View in_, out_;
  std::vector<View> tiles_;
  std::vector<Index> variables_;
};

TEST(Nested, RandomNests) {
  constexpr unsigned kSeed = 20261116;
  int watched = 0;
  for (unsigned seed = kSeed; seed < kSeed + 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program p = RandomNest(seed).make();
    const Timeline fast = simulate(p, arch(Target::trn2), {.reorder = false, .nested_from = 0}),
                   slow = simulate(p, arch(Target::trn2), {.reorder = false, .extrapolate = false, .limit = kNoLimit});
    EXPECT_EQ(fast.total, slow.total);
    EXPECT_EQ(fast.instructions, slow.instructions);
    EXPECT_EQ(fast.hbm_bytes_written, slow.hbm_bytes_written);
    watched += !fast.gaps.empty();
  }
  EXPECT_GT(watched, 12);
}

// Far more than can be simulated: what a pass takes, as often as it is taken.
TEST(Nested, MoreThanCanBeSimulated) {
  const Time pass = simulate(nest(1, 2001, false), arch(Target::trn2), {.reorder = false}).total -
                    simulate(nest(1, 1001, false), arch(Target::trn2), {.reorder = false}).total;
  for (const auto& [depth, count] :
       {std::pair{30, 2}, std::pair{3, 1024}, std::pair{2, 1'000'000}, std::pair{6, 100}}) {
    SCOPED_TRACE(testing::Message() << depth << " loops of " << count);
    const Timeline t = simulate(nest(depth, count, false), arch(Target::trn2), {.reorder = false});
    const double passes = std::pow(count, depth);
    EXPECT_EQ(static_cast<double>(t.instructions), passes + 2);
    EXPECT_NEAR(static_cast<double>(t.total), passes * static_cast<double>(pass) / 1000, 1e7);
    EXPECT_LT(t.events.size(), 100'000);
  }
  for (const auto& [depth, count] :
       {std::pair{3, 1024}, std::pair{2, 1'000'000}, std::pair{4, 1000}, std::pair{6, 100}}) {
    SCOPED_TRACE(testing::Message() << depth << " loops of " << count << " with more in between");
    const Timeline t = simulate(nest(depth, count, true), arch(Target::trn2), {.reorder = false});
    EXPECT_NEAR(static_cast<double>(t.instructions), std::pow(count, depth) * count / (count - 1), count);
    EXPECT_LT(t.events.size(), 3'000'000);
  }
}

TEST(Nested, EmptyLoopsCostNothing) {
  const Time without = simulate(nest(1, 1, false), arch(Target::trn2), {.reorder = false}).total;
  Kernel k("empty");
  const View in = k.input("in", {128, 64}, kF32), out = k.output("out", {128, 64}, kF32);
  const View x = k.sbuf({128, 64}, kF32);
  k.dma_copy({.dst = x, .src = in});
  const std::function<void(int)> loop = [&](int left) {
    k.loop(1'000'000'000, [&](Index) {
      k.sbuf({128, 64}, kF32);
      if (left > 1) loop(left - 1);
    });
  };
  loop(40);
  k.loop(1, [&](Index) { k.reciprocal({.dst = x, .data = x}); });
  k.dma_copy({.dst = out, .src = x});
  EXPECT_EQ(simulate(k.finish(), arch(Target::trn2), {.reorder = false}).total, without);
}

// A loop on a register evaluates its condition, whether it has a body or not.
TEST(Nested, EmptyLoopsOnRegisters) {
  const auto total = [](std::int64_t count) {
    Kernel k("empty");
    const View x = k.inout("x", {128, 64}, kF32), t = k.sbuf({128, 64}, kF32);
    k.dma_copy({.dst = t, .src = x});
    k.fori_loop(0, count, [&](Reg) { k.fori_loop(0, count, [&](Reg) {}); });
    k.dma_copy({.dst = x, .src = t});
    return simulate(k.finish(), arch(Target::trn2), {.reorder = false}).total;
  };
  const Time turn = from_ns(arch(Target::trn2).timing.loop_ns);
  EXPECT_EQ(total(2000) - total(1000), (2000 * 2001 - 1000 * 1001) * turn);
  EXPECT_EQ(error_of([&] { total(2'000'000'000); }).code, "timing.longest_time");
}

TEST(Nested, WhatTakesTooLongNamesTheLoop) {
  const Diagnostic d = error_of([] { simulate(nest(30, 2, true), arch(Target::trn2), {.reorder = false}); });
  EXPECT_EQ(d.code, "timing.limit");
  EXPECT_NE(d.found.find("loop on `"), std::string::npos) << d.found;
  EXPECT_GT(d.loc.line, 0);
  EXPECT_EQ(error_of([] { simulate(nest(20, 1000, false), arch(Target::trn2), {.reorder = false}); }).code,
            "timing.longest_time");
  EXPECT_EQ(error_of([] { simulate(nest(5, 1000, false), arch(Target::trn2), {.reorder = false}); }).code,
            "timing.longest_time");
  EXPECT_EQ(error_of([] { simulate(nest(2, 1000, false), arch(Target::trn2), {.reorder = true, .limit = 1000}); }).code,
            "timing.limit");
  EXPECT_EQ(
      error_of([] { simulate(nest(2, 100, false), arch(Target::trn2), {.reorder = false, .limit = 9'999}); }).code,
      "timing.limit");
  EXPECT_EQ(
      error_of([] { simulate(nest(2, 100, false), arch(Target::trn2), {.reorder = false, .limit = 10'000}); }).code,
      "");
}

TEST(Nested, MemoryIsCheckedBeforeItIsTaken) {
  const Diagnostic d = error_of([] {
    simulate(nest(2, 300, false), arch(Target::trn2), {.reorder = false, .extrapolate = false, .max_memory = 1 << 20});
  });
  EXPECT_EQ(d.code, "limit.R1");
}

}  // namespace
}  // namespace kiln::timing
