// Loops that are extrapolated end exactly where they would have ended.
#include <gtest/gtest.h>

#include "kiln/isa/builder.h"
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
  const Timeline fast = simulate(p, a), slow = simulate(p, a, {.extrapolate = false});
  EXPECT_FALSE(fast.gaps.empty());
  EXPECT_EQ(fast.total, slow.total);
  EXPECT_EQ(fast.instructions, slow.instructions);
  EXPECT_EQ(fast.hbm_bytes_read, slow.hbm_bytes_read);
  EXPECT_EQ(fast.macs, slow.macs);
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

}  // namespace
}  // namespace kiln::timing
