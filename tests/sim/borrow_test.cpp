// Tiles that are read where their input lies: nobody can tell, whatever is written afterwards.
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

constexpr std::int64_t kColumns = 512;
const RunOptions kWays[] = {{.threads = 1}, {.threads = 4}, {.threads = 1, .plain = true}};

// A run that must leave its input alone.
Floats result(KernelRun& run, const RunOptions& options) {
  const auto before = run.arrays.at("x");
  run.run(options);
  EXPECT_EQ(run.arrays.at("x"), before);
  return run.get("y");
}

TEST(Borrow, AWriteChangesTheTileAndNotTheInput) {
  Kernel k("write");
  const View x = k.input("x", {128, kColumns}, DType::float32), y = k.output("y", {2, 128, kColumns}, DType::float32);
  const View t = k.sbuf({128, kColumns}, DType::float32), early = k.sbuf({128, kColumns}, DType::float32);
  k.dma_copy({.dst = t, .src = x});
  k.tensor_scalar({.dst = early, .data = t, .op0 = AluOp::multiply, .operand0 = 2});
  k.memset({.dst = t(all, ds(0, 2)), .value = -1});
  k.dma_copy({.dst = y(0), .src = t});
  k.dma_copy({.dst = y(1), .src = early});
  KernelRun run(k);
  const Floats in = counting(128 * kColumns);
  run.set("x", in);
  for (const RunOptions& way : kWays) {
    const Floats out = result(run, way);
    for (std::int64_t i = 0; i < 128 * kColumns; ++i) {
      ASSERT_EQ(out[i], i % kColumns < 2 ? -1 : in[i]) << i;
      ASSERT_EQ(out[128 * kColumns + i], 2 * in[i]) << i;
    }
  }
}

// Each iteration starts from the input again, and adds to its tile in place.
TEST(Borrow, ALoopLoadsAgain) {
  constexpr std::int64_t kSteps = 12;
  Kernel k("again");
  const View x = k.input("x", {128, kSteps * kColumns}, DType::float32),
             y = k.output("y", {128, kSteps * kColumns}, DType::float32);
  k.loop(kSteps, [&](Index i) {
    const View t = k.sbuf({128, kColumns}, DType::float32);
    for (int times = 0; times < 2; ++times) {
      k.dma_copy({.dst = t, .src = x(all, ds(i * kColumns, kColumns))});
      k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::add, .operand0 = 1});
    }
    k.dma_copy({.dst = y(all, ds(i * kColumns, kColumns)), .src = t});
  });
  KernelRun run(k);
  Floats wanted = counting(128 * kSteps * kColumns);
  run.set("x", wanted);
  for (float& v : wanted) v += 1;
  for (const RunOptions& way : kWays) ASSERT_EQ(result(run, way), wanted) << way.threads;
}

// Rows of the input are an odd number of bytes apart; those of the tile are whole floats.
TEST(Borrow, ATileMayBeSeenAsAnotherDType) {
  constexpr std::int64_t kBytes = 4 * kColumns, kPitch = kBytes + 1;
  Kernel k("view");
  const View x = k.input("x", {128, kPitch}, DType::uint8), y = k.output("y", {128, 1}, DType::float32);
  const View t = k.sbuf({128, kBytes}, DType::uint8), sum = k.sbuf({128, 1}, DType::float32);
  k.dma_copy({.dst = t, .src = x(all, ds(1, kBytes))});
  k.tensor_reduce({.dst = sum, .op = AluOp::add, .data = t.view(DType::float32), .axis = {1}});
  k.dma_copy({.dst = y, .src = sum});
  KernelRun run(k);
  const Floats values = counting(128 * kColumns);
  Floats wanted(128);
  for (std::int64_t row = 0; row < 128; ++row) {
    const float* of_row = &values[row * kColumns];
    std::memcpy(run.arrays.at("x").data() + row * kPitch + 1, of_row, kBytes);
    for (std::int64_t i = 0; i < kColumns; ++i) wanted[row] += of_row[i];
  }
  for (const RunOptions& way : kWays) EXPECT_EQ(result(run, way), wanted) << way.threads;
}

// The caller gives the same memory for x and y: the tile keeps what was loaded before y was written.
TEST(Borrow, AnInputUnderAnOutputIsCopied) {
  Kernel k("same memory");
  const View x = k.input("x", {128, kColumns}, DType::float32), y = k.output("y", {128, kColumns}, DType::float32),
             z = k.output("z", {128, kColumns}, DType::float32);
  const View t = k.sbuf({128, kColumns}, DType::float32), ones = k.sbuf({128, kColumns}, DType::float32);
  k.dma_copy({.dst = t, .src = x});
  k.memset({.dst = ones, .value = 1});
  k.dma_copy({.dst = y, .src = ones});
  k.dma_copy({.dst = z, .src = t});
  const isa::Program program = k.finish();
  for (const RunOptions& way : {kWays[0], kWays[2]}) {
    Floats both = counting(128 * kColumns), out(128 * kColumns);
    const std::size_t bytes = both.size() * sizeof(float);
    run(program, arch(program.target),
        {{"x", {both.data(), bytes}}, {"y", {both.data(), bytes}}, {"z", {out.data(), bytes}}}, way);
    EXPECT_EQ(out, counting(128 * kColumns));
    EXPECT_EQ(both, Floats(128 * kColumns, 1));
  }
}

}  // namespace
}  // namespace kiln::sim
