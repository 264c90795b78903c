#include "kernels/blas/config_rules.h"
#include "kernels/sparse/resident_matrix.h"
#include "kernels/sparse/solver_parts.h"

namespace kiln::kernels {
using namespace isa;

Program fixed_iteration(const SolverConfig& c, Target target) {
  constexpr DType f32 = DType::float32;
  require_solver("fixed_iteration", c);
  require_sizes("fixed_iteration", {c.steps});
  Kernel k("fixed_iteration", target);
  const std::int64_t n = c.pattern.rows;
  const VectorMath math(k, n);
  const ResidentMatrix a(k, "blocks", c.pattern);
  const View b = math.load(k.input("b", {n}, f32)), x = math.load(k.input("x", {n}, f32));
  const View factors = math.spread(k.input("factors", {1, 2 * c.steps}, f32));
  const View out = k.output("y", {n}, f32), info = k.output("info", {1, 4}, f32);
  const View r = math.vector(), d = math.vector(), ax = math.vector();
  const auto residual = [&] {
    a.multiply(ax, x);
    k.tensor_tensor({.dst = r, .data1 = b, .data2 = ax, .op = AluOp::subtract});
  };
  k.loop(c.steps, [&](Index i) {
    residual();
    k.tensor_scalar({.dst = d, .data = d, .op0 = AluOp::multiply, .operand0 = factors(all, ds(i + c.steps, 1))});
    math.add(d, d, factors(all, ds(i, 1)), r);
    k.tensor_tensor({.dst = x, .data1 = x, .data2 = d, .op = AluOp::add});
  });
  residual();
  const View state = k.sbuf({kTile, 4}, f32);
  k.memset({.dst = state, .value = static_cast<double>(c.steps)});
  math.dot(state(all, ds(1, 1)), r, r);
  math.dot(state(all, ds(2, 1)), b, b);
  math.store(out, x);
  k.dma_copy({.dst = info, .src = state(ds(0, 1))});
  return k.finish();
}

}  // namespace kiln::kernels
