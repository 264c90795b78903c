#include "kernels/blas/gemm.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/gemm_loops.h"

namespace kiln::kernels {
using namespace isa;

Program gemm(const GemmConfig& c, Target target) {
  require_gemm("gemm", c);
  Kernel k("gemm", target);
  const Epilogue epilogue(k, c.alpha, c.beta);
  GemmOperands x;
  x.a = {k.input("a", c.trans_a ? Shape{c.k, c.m} : Shape{c.m, c.k}, c.dtype), c.trans_a};
  x.b = {k.input("b", c.trans_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, c.dtype), !c.trans_b};
  if (epilogue.reads_c()) x.from = k.input("c_in", {c.m, c.n}, c.c_dtype());
  x.to = k.output("c", {c.m, c.n}, c.c_dtype());
  GemmLoops(k, c, epilogue, x).run();
  return k.finish();
}

}  // namespace kiln::kernels
