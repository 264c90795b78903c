#include "kernels/blas/herk.h"

#include "kernels/blas/complex_loops.h"
#include "kernels/blas/config_rules.h"

namespace kiln::kernels {
using namespace isa;

Program herk(const HerkConfig& c, Target target) {
  require_sizes("herk", {c.n, c.k});
  require_alpha("herk", c.alpha);
  Kernel k("herk", target);
  const ComplexFactors factors(k, c.alpha, c.beta);
  ComplexProduct p{.m = c.n, .n = c.n, .k = c.k, .products = 4, .triangle = c.uplo};
  const View a = k.input("a", c.trans ? Shape{c.k, 2 * c.n} : Shape{c.n, 2 * c.k}, DType::float32);
  p.a = {a, c.trans, c.trans};   // aᴴ a: the left one is conjugated
  p.b = {a, c.trans, !c.trans};  // a aᴴ: the right one
  if (factors.reads_c()) p.from = k.input("c_in", {c.n, 2 * c.n}, DType::float32);
  p.to = k.output("c", {c.n, 2 * c.n}, DType::float32);
  multiply_complex(k, factors, p);
  return k.finish();
}

}  // namespace kiln::kernels
