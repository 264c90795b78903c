// Micro-kernels against the formulas of the documents: durations, intervals, bandwidth, fixed latencies.
#include <gtest/gtest.h>

#include "kiln/isa/builder.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;

TEST(Formulas, MatmulStreamReachesTheArraysRate) {
  Kernel k("stream");
  k.fragment();
  const View s = k.input("s", {128, 128}, kBf16, Memory::sbuf),
             m = k.input("m", {128, 512}, kBf16, Memory::sbuf);
  const View out = k.output("out", {128, 512}, kF32, Memory::psum);
  k.loop(1000, [&](Index) { k.nc_matmul({.dst = out, .stationary = s, .moving = m, .accumulate = true}); });
  const Timeline t = simulate(k.program(), arch(Target::trn2));
  const Event &e = t.events[900], &f = t.events[901];
  EXPECT_NEAR(to_ns(f.start - e.start), 512 / 2.4, 4);                      // initiation interval, warm
  EXPECT_NEAR(to_ns(e.end - e.start), 164 + 512 / 2.4, 4);                  // duration
  EXPECT_NEAR(to_ns(t.events[1].start - t.events[0].start), 512 / 1.2, 8);  // throttled at first
}

}  // namespace
}  // namespace kiln::timing
