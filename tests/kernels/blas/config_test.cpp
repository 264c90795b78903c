#include <gtest/gtest.h>

#include "kernels/blas/batched_gemm.h"
#include "kernels/blas/cholesky.h"
#include "kernels/blas/complex_gemm.h"
#include "kernels/blas/syrk.h"
#include "kernels/blas/trsm.h"
#include "kiln/base/error.h"

namespace kiln::kernels::test {
namespace {

std::string code_of(const std::function<void()>& build) {
  try {
    build();
  } catch (const Error& error) {
    return error.diagnostics().front().code;
  }
  return "none";
}

TEST(Config, WhatCannotBeBuiltIsNamed) {
  const Target t = Target::trn2;
  EXPECT_EQ(code_of([&] { gemm({.m = 1, .n = 0, .k = 1}, t); }), "kernels.R1");
  EXPECT_EQ(code_of([&] { cholesky(-3, Uplo::lower, t); }), "kernels.R1");
  EXPECT_EQ(code_of([&] { gemm({.m = 1, .n = 1, .k = 1, .dtype = DType::int32}, t); }), "kernels.R2");
  EXPECT_EQ(code_of([&] { syrk({.n = 1, .k = 1, .dtype = DType::float16}, t); }), "kernels.R2");
  const GemmConfig half{.m = 1, .n = 1, .k = 1, .dtype = DType::bfloat16, .precision = Precision::bf16x3};
  EXPECT_EQ(code_of([&] { gemm(half, t); }), "kernels.R3");
  EXPECT_EQ(code_of([&] { trsm({.m = 1, .n = 1, .alpha = Scalar::zero}, t); }), "kernels.R4");
  const GemmConfig wide{.m = 999, .n = 9999, .k = 1, .blocking = {.m_tiles = 3, .n_tiles = 3}};
  EXPECT_EQ(code_of([&] { gemm(wide, t); }), "kernels.R5");
  EXPECT_EQ(code_of([&] { complex_gemm({.m = 1, .n = 1, .k = 1, .products = 5}, t); }), "kernels.R6");
  EXPECT_EQ(code_of([&] { gemm_list({}, t); }), "kernels.R7");
}

}  // namespace
}  // namespace kiln::kernels::test
