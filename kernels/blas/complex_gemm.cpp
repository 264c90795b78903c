#include "kernels/blas/complex_gemm.h"

#include <fmt/format.h>

#include "kernels/blas/complex_loops.h"
#include "kernels/blas/config_rules.h"

namespace kiln::kernels {
using namespace isa;

namespace {

void require_complex(const char* kernel, const ComplexGemmConfig& c) {
  require_sizes(kernel, {c.m, c.n, c.k});
  require_alpha(kernel, c.alpha);
  if (c.products != 3 && c.products != 4)
    raise(config_rules::kTable, config_rules::kProducts, {.found = fmt::format("products is {}", c.products)});
}

Shape shape_of(Op op, std::int64_t rows, std::int64_t columns) {
  return op == Op::none ? Shape{rows, 2 * columns} : Shape{columns, 2 * rows};
}
Shape shape_of(std::int64_t batch, Op op, std::int64_t rows, std::int64_t columns) {
  const Shape one = shape_of(op, rows, columns);
  return {batch, one[0], one[1]};
}

}  // namespace

Program complex_gemm(const ComplexGemmConfig& c, Target target) {
  require_complex("complex_gemm", c);
  Kernel k("complex_gemm", target);
  const ComplexFactors factors(k, c.alpha, c.beta);
  ComplexProduct p{.m = c.m, .n = c.n, .k = c.k, .products = c.products};
  p.a = {k.input("a", shape_of(c.op_a, c.m, c.k), DType::float32), c.op_a != Op::none, c.op_a == Op::conjugate};
  p.b = {k.input("b", shape_of(c.op_b, c.k, c.n), DType::float32), c.op_b == Op::none, c.op_b == Op::conjugate};
  if (factors.reads_c()) p.from = k.input("c_in", {c.m, 2 * c.n}, DType::float32);
  p.to = k.output("c", {c.m, 2 * c.n}, DType::float32);
  multiply_complex(k, factors, p);
  return k.finish();
}

Program complex_batched_gemm(const ComplexBatchConfig& config, Target target) {
  const ComplexGemmConfig& c = config.each;
  require_complex("complex_batched_gemm", c);
  require_sizes("complex_batched_gemm", {config.batch});
  Kernel k("complex_batched_gemm", target);
  const ComplexFactors factors(k, c.alpha, c.beta);
  const std::int64_t of_a = config.shares_a ? 1 : config.batch, of_b = config.shares_b ? 1 : config.batch;
  const View a = k.input("a", shape_of(of_a, c.op_a, c.m, c.k), DType::float32);
  const View b = k.input("b", shape_of(of_b, c.op_b, c.k, c.n), DType::float32);
  View from;
  if (factors.reads_c()) from = k.input("c_in", {config.batch, c.m, 2 * c.n}, DType::float32);
  const View to = k.output("c", {config.batch, c.m, 2 * c.n}, DType::float32);
  k.loop(config.batch, [&](Index i) {
    ComplexProduct p{.m = c.m, .n = c.n, .k = c.k, .products = c.products};
    p.a = {config.shares_a ? a(0) : a(i), c.op_a != Op::none, c.op_a == Op::conjugate};
    p.b = {config.shares_b ? b(0) : b(i), c.op_b == Op::none, c.op_b == Op::conjugate};
    if (factors.reads_c()) p.from = from(i);
    p.to = to(i);
    multiply_complex(k, factors, p);
  });
  return k.finish();
}

}  // namespace kiln::kernels
