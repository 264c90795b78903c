// What must hold of any prediction: more work never takes less time, faster parts never more, and the total
// lies between the busiest lane and all of them one after the other. Sizes are drawn; the seed is printed.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "kiln/isa/builder/builder.h"
#include "kiln/timing/simulate.h"
#include "tests/seed.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr std::int64_t kTile = 128, kWide = 512;

struct Size {
  std::int64_t m, k, n;  // in tiles
};

// Products of tiles that are loaded where they are used, then a function and a store.
Program product(const Size& size, DType dtype, Target target) {
  Kernel k("product", target);
  const View lhs = k.input("lhs", {size.k * kTile, size.m * kTile}, dtype);
  const View rhs = k.input("rhs", {size.k * kTile, size.n * kWide}, dtype);
  const View out = k.output("out", {size.m * kTile, size.n * kWide}, dtype);
  k.loop(size.m, [&](Index r) {
    k.loop(size.n, [&](Index c) {
      const View sum = k.psum({kTile, kWide}, DType::float32), result = k.sbuf({kTile, kWide}, dtype);
      k.loop(size.k, [&](Index i) {
        const View a = k.sbuf({kTile, kTile}, dtype), b = k.sbuf({kTile, kWide}, dtype);
        k.dma_copy({.dst = a, .src = lhs(ds(i * kTile, kTile), ds(r * kTile, kTile))});
        k.dma_copy({.dst = b, .src = rhs(ds(i * kTile, kTile), ds(c * kWide, kWide))});
        k.nc_matmul({.dst = sum, .stationary = a, .moving = b});
      });
      k.activation({.dst = result, .op = ActFn::exp, .data = sum});
      k.dma_copy({.dst = out(ds(r * kTile, kTile), ds(c * kWide, kWide)), .src = result});
    });
  });
  return k.finish();
}

// Rows through the vector engine.
Program rows(const Size& size, DType dtype, Target target) {
  Kernel k("rows", target);
  const View in = k.input("in", {size.m * kTile, size.n * kWide}, dtype),
             out = k.output("out", {size.m * kTile, size.n * kWide}, dtype);
  k.loop(size.m, [&](Index r) {
    const View x = k.sbuf({kTile, size.n * kWide}, dtype), y = k.sbuf({kTile, size.n * kWide}, dtype),
               total = k.sbuf({kTile, 1}, DType::float32);
    k.dma_copy({.dst = x, .src = in(ds(r * kTile, kTile), all)});
    k.loop(size.k, [&](Index) {
      k.tensor_tensor({.dst = y, .data1 = x, .data2 = x, .op = AluOp::multiply});
      k.tensor_reduce({.dst = total, .op = AluOp::add, .data = y, .axis = {1}});
      k.tensor_scalar({.dst = x, .data = y, .op0 = AluOp::multiply, .operand0 = total});
    });
    k.dma_copy({.dst = out(ds(r * kTile, kTile), all), .src = x});
  });
  return k.finish();
}

using Make = Program (*)(const Size&, DType, Target);

class Sweeps : public testing::TestWithParam<std::tuple<Target, bool>> {
 protected:
  Timeline time(const Program& p, std::vector<WhatIf> what_if = {}) const {
    return simulate(p, arch(p.target), {.reorder = std::get<1>(GetParam()), .what_if = std::move(what_if)});
  }
  Program make(Make kernel, const Size& size, DType dtype = DType::bfloat16) const {
    return kernel(size, dtype, std::get<0>(GetParam()));
  }
  // A store that is ready earlier may take its turn before a load that others wait for: its trigger and its
  // bytes.
  static Time slips(const Program& p) {
    Time sum = 0;
    const Timeline t = simulate(p, arch(p.target), {.reorder = false});
    for (const Event& e : t.events) {
      const Event& trigger = e.kind == Kind::transfer ? t.events[e.because] : e;
      if (trigger.kind == Kind::trigger && t.lanes[trigger.lane].name == "sync stores") sum += e.occupied;
    }
    return sum;
  }
  template <class Fn>
  void for_each(Fn&& fn) {
    const auto seed = static_cast<unsigned>(test::seed());
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const Make kernel : {&product, &rows}) {
      for (int i = 0; i < 8; ++i) {
        const auto draw = [&] { return static_cast<std::int64_t>(random() % 5 + 1); };
        const Size size{draw(), draw(), draw()};
        SCOPED_TRACE(testing::Message() << size.m << " x " << size.k << " x " << size.n);
        fn(kernel, size);
      }
    }
  }
};

TEST_P(Sweeps, MoreWorkTakesNoLessTime) {
  for_each([&](Make kernel, const Size& size) {
    const Time base = time(make(kernel, size)).total;
    for (const std::int64_t factor : {2, 3}) {
      EXPECT_GE(time(make(kernel, {size.m * factor, size.k, size.n})).total, base);
      EXPECT_GE(time(make(kernel, {size.m, size.k * factor, size.n})).total, base);
      EXPECT_GE(time(make(kernel, {size.m, size.k, size.n * factor})).total, base);
    }
  });
}

TEST_P(Sweeps, HalfTheBytesTakeNoMoreTime) {
  for_each([&](Make kernel, const Size& size) {
    const Program wide = make(kernel, size, DType::float32);
    EXPECT_LE(time(make(kernel, size)).total, time(wide).total + slips(wide));
  });
}

TEST_P(Sweeps, FasterPartsTakeNoMoreTime) {
  for_each([&](Make kernel, const Size& size) {
    const Program p = make(kernel, size, DType::float32);
    const Time base = time(p).total, slipping = slips(p);
    for (const char* change : {"dma_bandwidth=2x", "dma_bandwidth=8x", "vector_clock=2x", "tensor_clock=2x"}) {
      SCOPED_TRACE(change);
      EXPECT_LE(time(p, {parse_what_if(change)}).total, base + slipping);
    }
    EXPECT_GE(time(p, {parse_what_if("dma_bandwidth=0.25x")}).total + slipping, base);
  });
}

TEST_P(Sweeps, TheTotalLiesBetweenTheBusiestLaneAndAllLanes) {
  for_each([&](Make kernel, const Size& size) {
    const Timeline t = time(make(kernel, size));
    Time all = 0;
    for (const Lane& lane : t.lanes) {
      EXPECT_LE(lane.busy, t.total) << lane.name;
      EXPECT_LE(lane.active, t.total) << lane.name;
    }
    for (const Event& e : t.events) all += e.end - e.start;
    // What is in between: semaphores, starts of DMAs and their completion, loads of tables and operands.
    const Arch& a = arch(t.target);
    const double longest = a.dma.swdge.start_ns + a.dma.hwdge.start_ns + a.dma.completion_ns + a.timing.table_load_ns;
    EXPECT_LE(t.total, all + static_cast<Time>(t.events.size() * longest * kPicoseconds));
    EXPECT_GE(t.total, t.dma_busy);
    const Time path = std::accumulate(t.critical_path.begin(), t.critical_path.end(), Time{0},
                                      [](Time sum, const CriticalStep& s) { return sum + s.time; });
    EXPECT_EQ(path, t.total);
  });
}

TEST_P(Sweeps, ReorderingIsNeverWorse) {
  for_each([&](Make kernel, const Size& size) {
    const Program p = make(kernel, size);
    EXPECT_LE(simulate(p, arch(p.target), {.reorder = true}).total,
              simulate(p, arch(p.target), {.reorder = false}).total);
  });
}

TEST_P(Sweeps, TheSameProgramTakesTheSameTime) {
  for_each([&](Make kernel, const Size& size) {
    EXPECT_EQ(time(make(kernel, size)).total, time(make(kernel, size)).total);
  });
}

INSTANTIATE_TEST_SUITE_P(Chips, Sweeps,
                         testing::Combine(testing::Values(Target::trn1, Target::trn2, Target::trn3), testing::Bool()),
                         [](const auto& p) {
                           return std::string(arch(std::get<0>(p.param)).name) +
                                  (std::get<1>(p.param) ? "_reordered" : "_in_order");
                         });

}  // namespace
}  // namespace kiln::timing
