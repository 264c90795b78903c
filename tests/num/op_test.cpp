#include "kiln/num/op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/num/kernels.h"
#include "random_rows.h"

namespace kiln {
namespace {

TEST(Op, EveryNameParsesToItself) {
  for (int i = 0; i < kAluOpCount; ++i) {
    AluOp op;
    ASSERT_TRUE(parse_alu(kAluOps[i].name, op)) << kAluOps[i].name;
    EXPECT_EQ(static_cast<int>(op), i);
  }
  for (int i = 0; i < kActFnCount; ++i) {
    ActFn fn;
    ASSERT_TRUE(parse_act(kActFns[i].name, fn)) << kActFns[i].name;
    EXPECT_EQ(static_cast<int>(fn), i);
  }
}

TEST(Op, AliasesAndStrangers) {
  AluOp op;
  ActFn fn;
  ASSERT_TRUE(parse_alu("max", op));
  EXPECT_EQ(op, AluOp::maximum);
  ASSERT_TRUE(parse_alu("min", op));
  EXPECT_EQ(op, AluOp::minimum);
  EXPECT_FALSE(parse_alu("divide", op));
  EXPECT_FALSE(parse_alu("", op));
  EXPECT_FALSE(parse_act("Exp", fn));
}

// The other operand of a fold's first step comes out as it went in, but for the sign of zero in a sum.
TEST(Op, IdentityLeavesTheOtherOperand) {
  test::RandomRows rng;
  for (AluOp op : {AluOp::add, AluOp::multiply, AluOp::maximum, AluOp::minimum, AluOp::abs_max, AluOp::abs_min})
    for (int i = 0; i < 1000; ++i) {
      const float x = rng.value();
      if (std::isnan(x) || std::isinf(x)) continue;
      float out;
      plain_kernels().alu_sv(op, identity(op), &x, &out, 1);
      EXPECT_EQ(out, x) << name(op);
    }
  for (AluOp op : {AluOp::logical_and, AluOp::logical_or, AluOp::logical_xor})
    for (float x : {0.0f, 1.0f}) {
      float out;
      plain_kernels().alu_sv(op, identity(op), &x, &out, 1);
      EXPECT_EQ(out, x) << name(op);
    }
}

TEST(Op, RangesOfActivations) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(in_range(ActFn::exp, nan));
  EXPECT_TRUE(in_range(ActFn::log, 0x1p64f));
  EXPECT_FALSE(in_range(ActFn::log, 0x1.000002p64f));
  EXPECT_FALSE(in_range(ActFn::log, -1.0f));
  EXPECT_FALSE(in_range(ActFn::log, nan));
  EXPECT_TRUE(in_range(ActFn::reciprocal, -0x1p-42f));
  EXPECT_FALSE(in_range(ActFn::reciprocal, 0.0f));
  EXPECT_TRUE(in_range(ActFn::sin, -3.14159274f));
  EXPECT_FALSE(in_range(ActFn::sin, 3.1415930f));
}

}  // namespace
}  // namespace kiln
