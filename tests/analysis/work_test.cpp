// What programs multiply, move and write.
#include "kiln/analysis/work.h"

#include <gtest/gtest.h>

#include "kiln/analysis/product.h"
#include "kiln/analysis/writers.h"
#include "kiln/isa/builder/builder.h"
#include "tests/programs/random_program.h"

namespace kiln::analysis {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;
const Arch& trn2() { return arch(Target::trn2); }

// Loads 128 x 64 and 128 x 512, multiplies them `count` times and stores the product.
Program products(DType dtype, std::int64_t count) {
  Kernel k("products");
  const View x = k.input("x", {128, 64}, dtype), w = k.input("w", {128, 512}, dtype),
             y = k.output("y", {64, 512}, kF32);
  const View a = k.sbuf({128, 64}, dtype), b = k.sbuf({128, 512}, dtype), out = k.sbuf({64, 512}, kF32);
  const View sum = k.psum({64, 512}, kF32);
  k.dma_copy({.dst = a, .src = x});
  k.dma_copy({.dst = b, .src = w});
  k.loop(count, [&](Index) { k.nc_matmul({.dst = sum, .stationary = a, .moving = b}); });
  k.tensor_copy({.dst = out, .src = sum});
  k.dma_copy({.dst = y, .src = out});
  return k.finish();
}

TEST(Work, CountsWhatALoopExecutes) {
  const Program p = products(kBf16, 3);
  const std::int64_t trips[] = {3};
  Work work;
  add_work(work, p, trips, trn2());
  const double a = 128 * 64 * 2, b = 128 * 512 * 2, out = 64 * 512 * 4;
  EXPECT_EQ(work.matmuls, 3);
  EXPECT_EQ(work.matmul_flops, 3 * 2.0 * 128 * 64 * 512);
  EXPECT_EQ(work.transpose_flops, 0);
  EXPECT_EQ(work.dma_transfers, 3);
  EXPECT_EQ(work.dma_bytes, a + b + out);
  EXPECT_EQ(work.sbuf_bytes_written, a + b + out);
  EXPECT_EQ(work.sbuf_bytes_read, 3 * (a + b) + out);
  EXPECT_EQ(work.psum_bytes_written, 3 * out);
  add_work(work, p, trips, trn2());
  EXPECT_EQ(work.matmuls, 6) << "of two cores";
}

TEST(Product, CountsPassesOfFloat32) {
  const Program narrow = products(kBf16, 1), wide = products(kF32, 1);
  const Product n = product_of({narrow, narrow.instructions[2]}, trn2());
  const Product w = product_of({wide, wide.instructions[2]}, trn2());
  EXPECT_EQ(n.macs, 128.0 * 64 * 512);
  EXPECT_EQ(w.macs, n.macs);
  EXPECT_EQ(n.flops, 2 * n.macs);
  EXPECT_EQ(w.flops, trn2().matmul_fp32_passes * n.flops);
  EXPECT_TRUE(n.is_matmul);
  EXPECT_EQ(product_of({narrow, narrow.instructions[0]}, trn2()).flops, 0);
}

TEST(Writers, AgreeWithEachOther) {
  for (int seed = 0; seed < 50; ++seed) {
    const Program p = random_program(seed);
    const std::vector<bool> written = written_tensors(p);
    const std::vector<InstructionId> only = only_writers(p);
    for (TensorId id = 0; id < p.tensors.size(); ++id) {
      const std::vector<InstructionId> writers = writers_of(p, id);
      EXPECT_EQ(written[id], !writers.empty());
      if (writers.size() == 1) continue;  // more than once, perhaps
      EXPECT_EQ(only[id], kNone);
    }
  }
}

}  // namespace
}  // namespace kiln::analysis
