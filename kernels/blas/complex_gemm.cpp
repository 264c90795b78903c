#include "kernels/blas/complex_gemm.h"

#include <fmt/format.h>

#include "kernels/blas/complex_loops.h"
#include "kernels/blas/config_rules.h"

namespace kiln::kernels {
using namespace isa;

Program complex_gemm(const ComplexGemmConfig& c, Target target) {
  require_sizes("complex_gemm", {c.m, c.n, c.k});
  require_alpha("complex_gemm", c.alpha);
  if (c.products != 3 && c.products != 4)
    raise(config_rules::kTable, config_rules::kProducts, {.found = fmt::format("products is {}", c.products)});
  Kernel k("complex_gemm", target);
  const ComplexFactors factors(k, c.alpha, c.beta);
  const bool turns_a = c.op_a != Op::none, turns_b = c.op_b != Op::none;
  ComplexProduct p{.m = c.m, .n = c.n, .k = c.k, .products = c.products};
  p.a = {k.input("a", turns_a ? Shape{c.k, 2 * c.m} : Shape{c.m, 2 * c.k}, DType::float32), turns_a,
         c.op_a == Op::conjugate};
  p.b = {k.input("b", turns_b ? Shape{c.n, 2 * c.k} : Shape{c.k, 2 * c.n}, DType::float32), !turns_b,
         c.op_b == Op::conjugate};
  if (factors.reads_c()) p.from = k.input("c_in", {c.m, 2 * c.n}, DType::float32);
  p.to = k.output("c", {c.m, 2 * c.n}, DType::float32);
  multiply_complex(k, factors, p);
  return k.finish();
}

}  // namespace kiln::kernels
