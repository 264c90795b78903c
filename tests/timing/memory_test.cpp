// What checking and timing need beside the program itself, for programs of very many instructions.
#include <gtest/gtest.h>

#include "kiln/check/check_program.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/views/timed_kernel.h"
#include "tests/peak_memory.h"

namespace kiln::timing {
namespace {

using isa::Kernel;
using isa::Program;
using isa::View;

constexpr std::int64_t kInstructions = 200'000;
constexpr auto f32 = DType::float32;

// Every instruction works on one tile, or makes a tile of its own from the one before.
Program chain(bool new_tiles) {
  Kernel k("chain");
  const View x = k.input("x", {128, 8}, f32), y = k.output("y", {128, 8}, f32);
  View tile = k.sbuf({128, 8}, f32);
  k.dma_copy({.dst = tile, .src = x});
  for (std::int64_t i = 0; i < kInstructions; ++i) {
    const View next = new_tiles ? k.sbuf({128, 8}, f32) : tile;
    k.tensor_tensor({.dst = next, .data1 = tile, .data2 = tile, .op = AluOp::add});
    tile = next;
  }
  k.dma_copy({.dst = y, .src = tile});
  return k.finish();
}

// Every instruction works on other parts of one tile.
Program slices() {
  Kernel k("slices");
  const View x = k.input("x", {128, 512}, f32), y = k.output("y", {128, 512}, f32);
  const View tile = k.sbuf({128, 512}, f32);
  k.dma_copy({.dst = tile, .src = x});
  const auto column = [&](std::int64_t i) { return tile(isa::all, isa::ds(i % 512, 1)); };
  for (std::int64_t i = 0; i < kInstructions; ++i)
    k.tensor_tensor({.dst = column(i), .data1 = column(i + 7), .data2 = column(i + 9), .op = AluOp::add});
  k.dma_copy({.dst = y, .src = tile});
  return k.finish();
}

// `count` tiles of one element per partition, all alive together.
Program together(std::int64_t count) {
  Kernel k("together");
  const View y = k.output("y", {128, 1}, f32);
  std::vector<View> tiles;
  for (std::int64_t i = 0; i < count; ++i) {
    tiles.push_back(k.sbuf({128, 1}, f32));
    k.memset({.dst = tiles.back(), .value = 1.0});
  }
  for (std::int64_t i = 1; i < count; ++i)
    k.tensor_tensor({.dst = tiles[0], .data1 = tiles[0], .data2 = tiles[i], .op = AluOp::add});
  k.dma_copy({.dst = y, .src = tiles[0]});
  return k.finish();
}

double bytes_to_check(const Program& program) {
  bool ok = false;
  const std::size_t bytes = test::peak_bytes([&] { ok = check::check_program(program, arch(program.target)).ok(); });
  EXPECT_TRUE(ok);
  return static_cast<double>(bytes) / static_cast<double>(program.instructions.size());
}

// With the passes of the vendor's compiler and the report.
double bytes_to_time(Program program) {
  const double count = static_cast<double>(program.instructions.size());
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  const std::size_t bytes =
      test::peak_bytes([&] { views::time_kernel(std::move(programs), {.reorder = false, .advice = false}); });
  return static_cast<double>(bytes) / count;
}

TEST(Memory, CheckingNeedsAtMostAHundredBytesPerInstruction) {
  EXPECT_LE(bytes_to_check(chain(false)), 100);
  EXPECT_LE(bytes_to_check(chain(true)), 100);
  EXPECT_LE(bytes_to_check(together(40'000)), 100);
}

// An event alone, which views show, has 32 bytes.
TEST(Memory, TimingNeedsAtMostAHundredBytesPerInstruction) {
  EXPECT_LE(bytes_to_time(chain(false)), 100);
  EXPECT_LE(bytes_to_time(chain(true)), 100);
  EXPECT_LE(bytes_to_time(slices()), 100);
  EXPECT_LE(bytes_to_time(together(40'000)), 100);
}

}  // namespace
}  // namespace kiln::timing
