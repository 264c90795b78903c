// Tiles that are read before anything writes them: flow.R5.
#include "kiln/check/unwritten.h"

#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "tests/check/codes.h"

namespace kiln::check {
namespace {
using isa::Kernel;
using isa::View;

constexpr DType kFloat = DType::float32;

std::vector<Diagnostic> found(const isa::Program& program) {
  std::vector<Diagnostic> out;
  check_unwritten(program, out);
  return out;
}

TEST(Unwritten, ATileThatIsStoredIsAnError) {
  Kernel k("stored");
  const View y = k.output("y", {128, 8}, kFloat);
  k.dma_copy({.dst = y, .src = k.sbuf({128, 8}, kFloat)});
  const auto out = found(k.finish());
  EXPECT_EQ(codes(out), Codes{"flow.R5"});
  EXPECT_EQ(out.at(0).severity, Severity::error);
}

TEST(Unwritten, ATileThatIsComputedWithIsAWarning) {
  Kernel k("computed");
  const View t = k.sbuf({128, 8}, kFloat), u = k.sbuf({128, 8}, kFloat);
  k.tensor_scalar({.dst = u, .data = t, .op0 = AluOp::multiply, .operand0 = 2.0f});
  const auto out = found(k.finish());
  EXPECT_EQ(codes(out), Codes{"flow.R5"});
  EXPECT_EQ(out.at(0).severity, Severity::warning);
}

TEST(Unwritten, WhatIsWrittenBeforeOrComesFromOutsideIsNot) {
  Kernel k("written");
  const View x = k.input("x", {128, 8}, kFloat), y = k.output("y", {128, 8}, kFloat);
  const View t = k.sbuf({128, 8}, kFloat);
  k.dma_copy({.dst = t, .src = x});
  k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 2.0f});
  k.dma_copy({.dst = y, .src = t});
  EXPECT_EQ(codes(found(k.finish())), Codes{});
}

}  // namespace
}  // namespace kiln::check
