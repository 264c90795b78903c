// The two cores of a pair that do the same: flow.R4.
#include "kiln/check/same_work.h"

#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "tests/check/codes.h"

namespace kiln::check {
namespace {
using isa::all;
using isa::ds;
using isa::Kernel;
using isa::View;

// A copy of rows [first, first + 128) of x; `times` so often.
isa::Program copy(std::int64_t first, float factor = 1, bool writes = true) {
  Kernel k("copy");
  k.pair();
  const View x = k.input("x", {256, 8}, DType::float32), y = k.output("y", {256, 8}, DType::float32);
  const View t = k.sbuf({128, 8}, DType::float32);
  k.dma_copy({.dst = t, .src = x(ds(first, 128))});
  k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = factor});
  if (writes) k.dma_copy({.dst = y(ds(first, 128)), .src = t});
  return k.finish();
}

Codes found(const isa::Program& a, const isa::Program& b) {
  std::vector<Diagnostic> out;
  check_shared_work(isa::Launch({&a, &b}), out);
  return codes(out);
}

TEST(SameWork, EqualProgramsThatWriteOneOutput) {
  const isa::Program a = copy(0), b = copy(0);
  EXPECT_EQ(found(a, b), Codes{"flow.R4"});
  EXPECT_EQ(found(a, a), Codes{"flow.R4"});
}

TEST(SameWork, ProgramsThatDifferInAnything) {
  const isa::Program a = copy(0);
  EXPECT_EQ(found(a, copy(128)), Codes{});
  EXPECT_EQ(found(a, copy(0, 2)), Codes{});
  EXPECT_EQ(found(a, copy(0, 1, false)), Codes{});
  EXPECT_EQ(found(copy(0, 1, false), copy(0, 1, false)), Codes{});  // nothing comes of it
}

TEST(SameWork, OneCoreHasNobodyToShareWith) {
  const isa::Program a = copy(0);
  std::vector<Diagnostic> out;
  check_shared_work(isa::Launch(a), out);
  EXPECT_EQ(codes(out), Codes{});
}

}  // namespace
}  // namespace kiln::check
