#include "kiln/check/check_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/isa/builder/builder.h"
#include "tests/check/codes.h"

namespace kiln::check {
namespace {
using isa::Kernel;
using isa::View;

constexpr DType f32 = DType::float32, u8 = DType::uint8;

Report check(const isa::Program& program) { return check_program(program, arch(Target::trn2)); }

// A memset of a tile that is copied into `copies` others; all of it passes every rule. The tile.
View write_and_copy(Kernel& k, int copies = 1) {
  const View a = k.sbuf({128, 64}, f32);
  k.memset({.dst = a, .value = 0});
  for (int i = 0; i < copies; ++i) k.tensor_copy({.dst = k.sbuf({128, 64}, f32), .src = a});
  return a;
}

isa::Program legal(int copies = 1) {
  Kernel k("legal");
  write_and_copy(k, copies);
  return k.finish();
}

TEST(CheckProgram, Legal) {
  const Report report = check(legal());
  ASSERT_TRUE(report.ok()) << to_text(report.diagnostics);
  EXPECT_TRUE(report.allocation.complete());
  EXPECT_EQ(report.allocation.address[0], (isa::Address{0, 0}));
  EXPECT_EQ(report.left_out, 0u);
}

TEST(CheckProgram, BrokenStructureStopsTheRest) {
  isa::Program program = legal();
  program.tensors[1].name = program.tensors[0].name;
  program.tensors[0].address = isa::Address{0, 3};
  const Report report = check(program);
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.diagnostics.size(), 1u);
  EXPECT_TRUE(report.diagnostics[0].code.starts_with("program."));
}

TEST(CheckProgram, MisplacedTensorsAreNotAllocated) {
  isa::Program program = legal();
  program.tensors[0].address = isa::Address{0, 3};
  const Report report = check(program);
  EXPECT_EQ(codes(report.diagnostics), Codes{"memory.R6"});
  EXPECT_TRUE(report.allocation.address.empty());
}

TEST(CheckProgram, AllLayersReport) {
  Kernel k("layers");
  const View a = write_and_copy(k);
  k.tensor_copy({.dst = k.sbuf({128, 63}, f32), .src = a});  // other shape than its source
  k.memset({.dst = k.sbuf({128, 53246}, f32), .value = 0});  // fits alone, not beside a
  k.tensor_copy({.dst = k.sbuf({128, 64}, f32), .src = a});
  const auto found = codes(check(k.program()).diagnostics);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](auto& c) { return c.starts_with("tensor_copy."); }));
  EXPECT_EQ(found.back(), "memory.R8");
}

TEST(CheckProgram, ManyDiagnosticsAreCut) {
  isa::Program program = legal(150);
  for (auto& t : program.tensors) t.address = isa::Address{0, 3};
  const Report report = check(program);
  EXPECT_EQ(report.diagnostics.size(), kMaxDiagnostics);
  EXPECT_EQ(report.left_out, 51u);
  EXPECT_FALSE(report.ok());
}

Codes errors_of(const Report& report) {
  Codes codes;
  for (const Diagnostic& d : report.diagnostics) {
    if (d.severity == Severity::error) codes.push_back(d.code);
  }
  return codes;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Tiles of one memory are all filled before the first one is read.
isa::Program filled_first(Memory memory, int tiles, std::int64_t bytes) {
  Kernel k("filled_first");
  const View out = k.output("out", {128, bytes / 4}, f32);
  std::vector<View> all;
  for (int i = 0; i < tiles; ++i) {
    all.push_back(k.tensor(memory, isa::Role::internal, {128, bytes / 4}, f32, {}));
    k.memset({.dst = all.back(), .value = 0});
  }
  for (const View& tile : all) {
    const View copy = memory == Memory::psum ? k.sbuf({128, bytes / 4}, f32) : tile;
    if (memory == Memory::psum) k.tensor_copy({.dst = copy, .src = tile});
    k.dma_copy({.dst = out, .src = copy});
  }
  return k.finish();
}

void expect_both_figures(const isa::Program& program, Memory memory, std::int64_t written, std::int64_t reordered) {
  const Report lenient = check(program);
  EXPECT_TRUE(lenient.ok()) << to_text(lenient.diagnostics);
  ASSERT_EQ(codes(lenient.diagnostics), Codes{"memory.R8"});
  const std::string& found = lenient.diagnostics[0].found;
  EXPECT_TRUE(has(found, "need " + std::to_string(written) + " bytes per partition")) << found;
  EXPECT_TRUE(has(found, "reordered they need " + std::to_string(reordered))) << found;
  EXPECT_TRUE(has(lenient.diagnostics[0].help, "--strict-order")) << lenient.diagnostics[0].help;
  EXPECT_EQ(lenient.allocation.use(memory).peak_bytes, reordered);
  EXPECT_EQ(lenient.allocation.use(memory).written_bytes, written);
  EXPECT_EQ(lenient.allocation.address[1], std::nullopt) << "addresses would be those of another order";
  EXPECT_EQ(errors_of(check_program(program, arch(Target::trn2), {.strict_order = true})), Codes{"memory.R8"});
}

TEST(CheckProgram, FourTilesThatFitOnlyInAnotherOrder) {
  expect_both_figures(filled_first(Memory::sbuf, 4, 65536), Memory::sbuf, 262144, 65536);
  const Report three = check(filled_first(Memory::sbuf, 3, 65536));
  EXPECT_TRUE(three.diagnostics.empty()) << to_text(three.diagnostics);
}

TEST(CheckProgram, NineBanksThatFitOnlyInAnotherOrder) {
  expect_both_figures(filled_first(Memory::psum, 9, 2048), Memory::psum, 18432, 2048);
  const Report eight = check(filled_first(Memory::psum, 8, 2048));
  EXPECT_TRUE(eight.diagnostics.empty()) << to_text(eight.diagnostics);
}

// Each bank is made from the one before, and they are read from the last one to the first.
TEST(CheckProgram, NoOrderHelpsWhenAllAreNeededAtOnce) {
  Kernel k("chain");
  const View out = k.sbuf({128, 2048}, u8);
  std::vector<View> banks;
  for (int i = 0; i < 9; ++i) {
    banks.push_back(k.psum({128, 2048}, u8));
    if (i == 0) k.memset({.dst = banks[0], .value = 0});
    if (i > 0) k.tensor_scalar({.dst = banks[i], .data = banks[i - 1], .op0 = AluOp::add, .operand0 = 1});
  }
  for (int i = 8; i >= 0; --i) k.tensor_copy({.dst = out, .src = banks[i]});
  EXPECT_EQ(errors_of(check(k.program())), Codes{"memory.R8"});
}

TEST(CheckProgram, DeclaredOrderIsKept) {
  Kernel k("ordered");
  const View out = k.output("out", {128, 16384}, f32);
  std::vector<View> tiles;
  std::vector<Kernel::Handle> steps;
  const auto then = [&](Kernel::Handle step) {
    if (!steps.empty()) step.depends_on({steps.back()});
    steps.push_back(step);
  };
  for (int i = 0; i < 4; ++i) tiles.push_back(k.sbuf({128, 16384}, f32));
  for (const View& tile : tiles) then(k.memset({.dst = tile, .value = 0}));
  for (const View& tile : tiles) then(k.dma_copy({.dst = out, .src = tile}));
  EXPECT_EQ(errors_of(check(k.program())), Codes{"memory.R8"});
}

// A sum of tiles that were all loaded before: the sums wait for nothing else.
TEST(CheckProgram, TilesInALoopAreReorderedThere) {
  Kernel k("loop");
  const View x = k.input("x", {128, 16384}, f32), out = k.output("out", {128, 16384}, f32);
  k.loop(3, [&](const isa::Index&) {
    std::vector<View> tiles;
    for (int i = 0; i < 4; ++i) {
      tiles.push_back(k.sbuf({128, 16384}, f32));
      k.dma_copy({.dst = tiles.back(), .src = x});
    }
    for (const View& tile : tiles) k.dma_copy({.dst = out, .src = tile});
  });
  const Report report = check(k.program());
  EXPECT_TRUE(report.ok()) << to_text(report.diagnostics);
  EXPECT_EQ(codes(report.diagnostics), Codes{"memory.R8"});
}

TEST(CheckProgram, OnlySpillingIsSaid) {
  const auto help_of = [](std::int64_t bytes) {
    Kernel k("spill");
    const View sum = k.sbuf({128, bytes / 4}, f32), a = k.sbuf({128, bytes / 4}, f32),
               b = k.sbuf({128, bytes / 4}, f32);
    k.memset({.dst = sum, .value = 0});
    k.memset({.dst = a, .value = 0});
    k.tensor_scalar({.dst = b, .data = a, .op0 = AluOp::add, .operand0 = 1});
    for (const View& t : {a, b}) k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = t, .op = AluOp::add});
    k.tensor_tensor({.dst = a, .data1 = a, .data2 = sum, .op = AluOp::add});
    const Report report = check(k.program());
    EXPECT_EQ(errors_of(report), Codes{"memory.R8"});
    return report.diagnostics[0].help;
  };
  EXPECT_TRUE(has(help_of(80000), "only if the vendor's compiler spills")) << help_of(80000);
  EXPECT_TRUE(has(help_of(80000), "27016 bytes per partition")) << "3 * 80000 - 212984";
  EXPECT_TRUE(has(help_of(110000), "alone need 220000 bytes")) << help_of(110000);
}

}  // namespace
}  // namespace kiln::check
