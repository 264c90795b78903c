#include "tests/kernels/programs.h"

#include "kernels/blas/batched_gemm.h"
#include "kernels/blas/cholesky.h"
#include "kernels/blas/complex_gemm.h"
#include "kernels/blas/double_gemm.h"
#include "kernels/blas/herk.h"
#include "kernels/blas/mp2.h"
#include "kernels/blas/mp2_double.h"
#include "kernels/blas/symm.h"
#include "kernels/blas/syrk.h"
#include "kernels/blas/trmm.h"

namespace kiln::kernels::test {

std::map<std::string, isa::Program> programs(Target t) {
  const Scalar given = Scalar::given;
  return {
      {"gemm", gemm({.m = 200, .n = 300, .k = 150}, t)},
      {"gemm_tt",
       gemm({.m = 130, .n = 70, .k = 140, .trans_a = true, .trans_b = true, .alpha = given, .beta = given}, t)},
      {"gemm_x3", gemm({.m = 130, .n = 70, .k = 140, .precision = Precision::bf16x3}, t)},
      {"gemm_bfloat16", gemm({.m = 130, .n = 70, .k = 140, .dtype = DType::bfloat16}, t)},
      {"batched_gemm", batched_gemm({.each = {.m = 256, .n = 70, .k = 130}, .batch = 5}, t)},
      {"complex_gemm", complex_gemm({.m = 130, .n = 70, .k = 140}, t)},
      {"complex_gemm_3", complex_gemm({.m = 130, .n = 70, .k = 140, .op_a = Op::conjugate, .products = 3}, t)},
      {"complex_batched_gemm", complex_batched_gemm({{.m = 130, .n = 70, .k = 40}, 3, true, false}, t)},
      {"double_gemm", double_gemm({.m = 130, .n = 70, .k = 300}, t)},
      {"double_batched_gemm", double_batched_gemm({{.m = 130, .n = 70, .k = 40}, 3, false, true}, t)},
      {"syrk", syrk({.n = 520, .k = 130}, t)},
      {"syr2k", syr2k({.n = 200, .k = 130, .uplo = Uplo::upper}, t)},
      {"herk", herk({.n = 300, .k = 100}, t)},
      {"symm", symm({.m = 200, .n = 70}, t)},
      {"trmm", trmm({.m = 200, .n = 70, .diag = Diag::unit}, t)},
      {"trsm", trsm({.m = 200, .n = 70}, t)},
      {"trsm_right", trsm({.m = 70, .n = 200, .side = Side::right, .diag = Diag::unit}, t)},
      {"cholesky", cholesky(140, Uplo::lower, t)},
      {"mp2_energy", mp2_energy(4, 150, 140, t)},
      {"mp2_pair_energy", mp2_pair_energy(150, 140, t)},
      {"mp2_reduce", mp2_reduce(2, 3, 140, t)},
      {"mp2_energy_double", mp2_energy_double(2, 9, 12, t)},
      {"mp2_pair_energy_double", mp2_pair_energy_double(20, 12, t)},
      {"mp2_reduce_double", mp2_reduce_double(1, 2, 9, t)},
  };
}

}  // namespace kiln::kernels::test
