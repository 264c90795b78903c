// Long programs: tensors that nothing uses any more give their memory to the next ones.
#include "kiln/sim/declared_storage.h"

#include <sys/resource.h>

#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

// The most memory that this process has had so far.
std::int64_t peak_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

constexpr std::int64_t kTensors = 200, kRows = 4096, kColumns = 1024;  // 16 MiB each: 3.1 GiB together
constexpr std::int64_t kAllowed = std::int64_t{1} << 30;
#ifdef __SANITIZE_THREAD__
constexpr std::int64_t kNotes = 4;  // ThreadSanitizer keeps notes on each byte: they count as memory too
#else
constexpr std::int64_t kNotes = 1;
#endif

void expect_little_memory(Kernel& k) {
  KernelRun run(k);
  std::int64_t bytes = 0;
  for (const isa::Tensor& t : run.program.tensors) bytes += t.size() * size_bytes(t.dtype);
  ASSERT_GT(bytes, 3 * kAllowed);
  const Floats in = counting(kRows * kColumns);
  run.set("x", in);
  for (const int threads : {1, 4}) {
    const std::int64_t before = peak_bytes();
    run.run({.threads = threads});
    EXPECT_LT(peak_bytes() - before, kAllowed * kNotes) << threads << " threads";
    const Floats out = run.get("y");
    for (std::int64_t i = 0; i < kTensors; ++i) ASSERT_EQ(out[i], in[i * kColumns]) << "tensor " << i;
  }
}

// Copies x into a tensor of its own and one element of it to the output.
void pass_through(Kernel& k, const View& x, const View& y, const View& h, const Index& i) {
  k.dma_copy({.dst = h(ds(0, kRows), ds(0, kColumns)), .src = x});
  k.dma_copy({.dst = y(ds(i, 1)), .src = h(ds(i, 1), ds(0, 1))});
}

TEST(DeclaredStorage, AnUnrolledProgramRunsInBoundedMemory) {
  Kernel k("unrolled");
  const View x = k.input("x", {kRows, kColumns}, DType::float32), y = k.output("y", {kTensors, 1}, DType::float32);
  for (std::int64_t i = 0; i < kTensors; ++i) pass_through(k, x, y, k.hbm({kRows, kColumns}, DType::float32), i);
  expect_little_memory(k);
}

TEST(DeclaredStorage, SoDoesOneWhoseTensorsAllDifferInSize) {
  Kernel k("sizes");
  const View x = k.input("x", {kRows, kColumns}, DType::float32), y = k.output("y", {kTensors, 1}, DType::float32);
  for (std::int64_t i = 0; i < kTensors; ++i) pass_through(k, x, y, k.hbm({kRows + i, kColumns}, DType::float32), i);
  expect_little_memory(k);
}

TEST(DeclaredStorage, SoDoesAChainOfLoops) {
  Kernel k("loops");
  const View x = k.input("x", {kRows, kColumns}, DType::float32), y = k.output("y", {kTensors, 1}, DType::float32);
  for (std::int64_t i = 0; i < kTensors; ++i)
    k.loop(i, i + 1, 1, [&](Index j) { pass_through(k, x, y, k.hbm({kRows, kColumns}, DType::float32), j); });
  expect_little_memory(k);
}

// Enough dead weight that storages are given back at all.
void add_weight(Kernel& k) {
  for (int i = 0; i < 20; ++i) k.hbm({kRows, kColumns}, DType::float32);
}

TEST(DeclaredStorage, PlacedTensorsAndOuterOnesOutliveALoop) {
  Kernel k("placed");
  add_weight(k);
  const View x = k.input("x", {128, 8}, DType::float32), y = k.output("y", {128, 8}, DType::float32);
  const View outer = k.sbuf({128, 8}, DType::float32);
  k.dma_copy({.dst = outer, .src = x});
  k.loop(8, [&](Index i) {
    const View placed = k.sbuf({128, 1}, DType::float32, {.address = isa::Address{0, 1024}});
    const View own = k.sbuf({128, 1}, DType::float32);
    k.tensor_copy({.dst = placed, .src = outer(all, ds(i, 1))});
    k.tensor_copy({.dst = own, .src = placed});
    k.dma_copy({.dst = y(all, ds(i, 1)), .src = own});
    k.memset({.dst = outer(all, ds(i, 1)), .value = 0});
  });
  KernelRun run(k);
  run.set("x", counting(128 * 8));
  for (const int threads : {1, 4}) {
    run.run({.threads = threads});
    EXPECT_EQ(run.get("y"), counting(128 * 8));
  }
}

TEST(DeclaredStorage, SmallProgramsKeepEverything) {
  Kernel k("small");
  k.memset({.dst = k.sbuf({128, 4}, DType::float32), .value = 1});
  EXPECT_FALSE(gives_storages_back(k.program()));
  add_weight(k);
  EXPECT_TRUE(gives_storages_back(k.program()));
}

}  // namespace
}  // namespace kiln::sim
