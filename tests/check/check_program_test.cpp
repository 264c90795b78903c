#include "kiln/check/check_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/check/program_maker.h"

namespace kiln::check {
namespace {

Report check(ProgramMaker& m) { return check_program(m.finish(), arch(Target::trn2)); }

// A memset of a tile that is copied into `copies` others; all of it passes every rule.
ProgramMaker legal(int copies = 1) {
  ProgramMaker m;
  const auto a = m.tensor("a", Memory::sbuf, {128, 64});
  m.write(a);
  for (int i = 0; i < copies; ++i)
    m.copy(m.tensor(std::string("b").append(std::to_string(i)), Memory::sbuf, {128, 64}), a);
  return m;
}

TEST(CheckProgram, Legal) {
  ProgramMaker m = legal();
  const Report report = check(m);
  ASSERT_TRUE(report.ok()) << to_text(report.diagnostics);
  EXPECT_TRUE(report.allocation.complete());
  EXPECT_EQ(report.allocation.address[0], (isa::Address{0, 0}));
  EXPECT_EQ(report.left_out, 0u);
}

TEST(CheckProgram, BrokenStructureStopsTheRest) {
  ProgramMaker m = legal();
  m.program.tensors[1].name = m.program.tensors[0].name;
  m.program.tensors[0].address = isa::Address{0, 3};
  const Report report = check(m);
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.diagnostics.size(), 1u);
  EXPECT_TRUE(report.diagnostics[0].code.starts_with("program."));
}

TEST(CheckProgram, MisplacedTensorsAreNotAllocated) {
  ProgramMaker m = legal();
  m.program.tensors[0].address = isa::Address{0, 3};
  const Report report = check(m);
  EXPECT_EQ(codes(report.diagnostics), Codes{"memory.R6"});
  EXPECT_TRUE(report.allocation.address.empty());
}

TEST(CheckProgram, AllLayersReport) {
  ProgramMaker m = legal();
  m.copy(m.tensor("c", Memory::sbuf, {128, 63}), 0);      // other shape than its source
  m.write(m.tensor("huge", Memory::sbuf, {128, 53246}));  // fits alone, not beside a
  m.copy(m.tensor("d", Memory::sbuf, {128, 64}), 0);
  const auto found = codes(check(m).diagnostics);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](auto& c) { return c.starts_with("tensor_copy."); }));
  EXPECT_EQ(found.back(), "memory.R8");
}

TEST(CheckProgram, ManyDiagnosticsAreCut) {
  ProgramMaker m = legal(150);
  for (auto& t : m.program.tensors) t.address = isa::Address{0, 3};
  const Report report = check(m);
  EXPECT_EQ(report.diagnostics.size(), kMaxDiagnostics);
  EXPECT_EQ(report.left_out, 51u);
  EXPECT_FALSE(report.ok());
}

// Twelve full banks are filled before the first one is read; there are eight.
ProgramMaker twelve_banks(bool reads_wait) {
  ProgramMaker m;
  const auto out = m.sbuf("out", 128, 2048), late = m.psum("late", 128, 64);
  std::vector<isa::TensorId> banks;
  m.write(out);
  for (int i = 0; i < 12; ++i) banks.push_back(m.psum("p" + std::to_string(i), 128, 2048));
  for (auto bank : banks) m.write(bank);
  if (reads_wait) {  // what stands in `out` is needed until here
    auto part = whole(m.program, out);
    part.dims[1].count = 64;
    m.copy(whole(m.program, late), part);
  }
  for (auto bank : banks) m.copy(out, bank);
  return m;
}

TEST(CheckProgram, ReadsOfPsumMoveUp) {
  ProgramMaker free = twelve_banks(false), bound = twelve_banks(true);
  const Report fits = check_program(free.finish(), arch(Target::trn2));
  EXPECT_TRUE(fits.ok()) << to_text(fits.diagnostics);
  EXPECT_LE(fits.allocation.psum.peak_bytes, 16384);
  EXPECT_EQ(codes(fits.diagnostics), Codes{"memory.R8"});  // a warning: not in the order written
  const Report full = check_program(bound.finish(), arch(Target::trn2));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.diagnostics[0].code, "memory.R8");
}

}  // namespace
}  // namespace kiln::check
