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

// Twelve full banks are filled before the first one is read; there are eight.
isa::Program twelve_banks(bool reads_wait) {
  Kernel k("twelve_banks");
  const View out = k.sbuf({128, 2048}, u8), late = k.psum({128, 64}, u8);
  std::vector<View> banks;
  k.memset({.dst = out, .value = 0});
  for (int i = 0; i < 12; ++i) banks.push_back(k.psum({128, 2048}, u8));
  for (const View& bank : banks) k.memset({.dst = bank, .value = 0});
  if (reads_wait)
    k.tensor_copy({.dst = late, .src = out.slice(1, 0, 64)});  // what stands in `out` is needed until here
  for (const View& bank : banks) k.tensor_copy({.dst = out, .src = bank});
  return k.finish();
}

TEST(CheckProgram, ReadsOfPsumMoveUp) {
  const Report fits = check(twelve_banks(false));
  EXPECT_TRUE(fits.ok()) << to_text(fits.diagnostics);
  EXPECT_LE(fits.allocation.psum.peak_bytes, 16384);
  EXPECT_EQ(codes(fits.diagnostics), Codes{"memory.R8"});  // a warning: not in the order written
  const Report full = check(twelve_banks(true));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.diagnostics[0].code, "memory.R8");
}

}  // namespace
}  // namespace kiln::check
