#include "kernels/sparse/resident_matrix.h"
#include "kernels/sparse/solver_parts.h"

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr double kLeast = 0x1p-100;  // of Σ (a v)², so that its root is one
}

Program power_iteration(const SolverConfig& c, Target target) {
  constexpr DType f32 = DType::float32;
  require_solver("power_iteration", c);
  Kernel k("power_iteration", target);
  const std::int64_t n = c.pattern.rows;
  const VectorMath math(k, n);
  const ResidentMatrix a(k, "blocks", c.pattern);
  const View v = math.load(k.input("x", {n}, f32)), limits = math.spread(k.input("limits", {1, 2}, f32));
  const View out = k.output("y", {n}, f32), info = k.output("info", {1, 4}, f32);
  const View av = math.vector(), state = k.sbuf({kTile, 4}, f32), last = math.scalar();
  const View passes = state(all, ds(0, 1)), eigenvalue = state(all, ds(1, 1)), square = state(all, ds(2, 1));
  k.memset({.dst = state, .value = 0.0});
  k.memset({.dst = last, .value = 0.0});

  const auto normalise = [&](const View& to, const View& from) {
    const View root = math.scalar(), inverse = math.scalar();
    math.dot(square, from, from);
    k.tensor_scalar({.dst = root, .data = square, .op0 = AluOp::maximum, .operand0 = kLeast});
    k.activation({.dst = root, .op = ActFn::sqrt, .data = root});
    k.reciprocal({.dst = inverse, .data = root});
    k.tensor_scalar({.dst = to, .data = from, .op0 = AluOp::multiply, .operand0 = inverse});
  };
  normalise(v, v);
  Stop stop(k);
  const Reg go = k.reg(1);
  k.while_loop(go, [&] {
    const View change = math.scalar(), left = math.scalar();
    a.multiply(av, v);
    math.dot(eigenvalue, v, av);
    normalise(v, av);
    k.tensor_scalar({.dst = passes, .data = passes, .op0 = AluOp::add, .operand0 = 1.0});
    k.tensor_tensor({.dst = change, .data1 = eigenvalue, .data2 = last, .op = AluOp::subtract});
    k.tensor_scalar({.dst = change,
                     .data = change,
                     .op0 = AluOp::abs,
                     .op1 = AluOp::greater_equal,
                     .operand1 = limits(all, ds(0, 1))});
    k.tensor_copy({.dst = last, .src = eigenvalue});
    k.tensor_tensor({.dst = left, .data1 = passes, .data2 = limits(all, ds(1, 1)), .op = AluOp::less});
    k.tensor_tensor({.dst = change, .data1 = change, .data2 = left, .op = AluOp::multiply});
    stop.tell(change, go);
  });
  math.store(out, v);
  k.dma_copy({.dst = info, .src = state(ds(0, 1))});
  return k.finish();
}

}  // namespace kiln::kernels
