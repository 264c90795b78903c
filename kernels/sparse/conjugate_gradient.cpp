#include "kernels/blas/dtypes.h"
#include "kernels/sparse/resident_matrix.h"
#include "kernels/sparse/solver_parts.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr double kBreakdown = 1e-30;  // |p a p| below it says nothing about a step

class ConjugateGradient {
 public:
  ConjugateGradient(Kernel& k, const SolverConfig& c)
      : k_(k), n_(c.pattern.rows), math_(k, n_), a_(k, "blocks", c.pattern) {
    if (c.preconditioner == Preconditioner::matrix) m_.emplace(k, "m_blocks", c.m_pattern);
    if (c.preconditioner == Preconditioner::diagonal) inverse_ = math_.load(k.input("inverse", {n_}, f32));
    b_ = math_.load(k.input("b", {n_}, f32));
    x_ = math_.load(k.input("x", {n_}, f32));
    limits_ = math_.spread(k.input("limits", {1, 2}, f32));
  }

  void run() {
    const View out = k_.output("y", {n_}, f32), info = k_.output("info", {1, 4}, f32);
    r_ = math_.vector(), z_ = math_.vector(), p_ = math_.vector(), ap_ = math_.vector();
    const View state = k_.sbuf({kTile, 4}, f32);  // passes, Σ r², Σ b², whether the last step counted
    passes_ = state(all, ds(0, 1)), rr_ = state(all, ds(1, 1)), bb_ = state(all, ds(2, 1)),
    went_ = state(all, ds(3, 1));
    begin();
    Stop stop(k_);
    const Reg go = k_.reg(1);
    tell(stop, go);
    k_.while_loop(go, [&] {
      step();
      tell(stop, go);
    });
    math_.store(out, x_);
    k_.dma_copy({.dst = info, .src = state(ds(0, 1))});
  }

 private:
  void precondition() {
    if (inverse_.rank() > 0)
      k_.tensor_tensor({.dst = z_, .data1 = r_, .data2 = inverse_, .op = AluOp::multiply});
    else if (m_)
      m_->multiply(z_, r_);
    else
      k_.tensor_copy({.dst = z_, .src = r_});
  }

  void begin() {
    k_.memset({.dst = passes_, .value = 0.0});
    k_.memset({.dst = went_, .value = 1.0});
    a_.multiply(ap_, x_);
    k_.tensor_tensor({.dst = r_, .data1 = b_, .data2 = ap_, .op = AluOp::subtract});
    precondition();
    k_.tensor_copy({.dst = p_, .src = z_});
    rz_ = math_.scalar(), target_ = math_.scalar();
    math_.dot(bb_, b_, b_);
    math_.dot(rr_, r_, r_);
    math_.dot(rz_, r_, z_);
    k_.tensor_tensor({.dst = target_, .data1 = bb_, .data2 = limits_(all, ds(0, 1)), .op = AluOp::multiply});
  }

  // Goes on while Σ r² is at least tol² Σ b², passes are left and steps count. The first step is taken in any case.
  void tell(Stop& stop, Reg go) {
    const View more = math_.scalar(), left = math_.scalar();
    k_.tensor_tensor({.dst = more, .data1 = rr_, .data2 = target_, .op = AluOp::greater_equal});
    const View first = math_.scalar();
    k_.tensor_scalar({.dst = first, .data = passes_, .op0 = AluOp::equal, .operand0 = 0.0});
    k_.tensor_tensor({.dst = more, .data1 = more, .data2 = first, .op = AluOp::maximum});
    k_.tensor_tensor({.dst = left, .data1 = passes_, .data2 = limits_(all, ds(1, 1)), .op = AluOp::less});
    k_.tensor_tensor({.dst = more, .data1 = more, .data2 = left, .op = AluOp::multiply});
    k_.tensor_tensor({.dst = more, .data1 = more, .data2 = went_, .op = AluOp::multiply});
    stop.tell(more, go);
  }

  void step() {
    const View pap = math_.scalar(), alpha = math_.scalar(), beta = math_.scalar(), next = math_.scalar();
    a_.multiply(ap_, p_);
    math_.dot(pap, p_, ap_);
    // A step that would divide by nothing is none: alpha is 0, and the loop ends.
    const View size = math_.scalar(), safe = math_.scalar();
    k_.tensor_scalar(
        {.dst = size, .data = pap, .op0 = AluOp::abs, .op1 = AluOp::greater_equal, .operand1 = kBreakdown});
    k_.tensor_copy({.dst = went_, .src = size});
    k_.tensor_scalar({.dst = safe, .data = size, .op0 = AluOp::equal, .operand0 = 0.0});
    k_.tensor_tensor({.dst = safe, .data1 = safe, .data2 = pap, .op = AluOp::add});
    math_.divide(alpha, rz_, safe);
    k_.tensor_tensor({.dst = alpha, .data1 = alpha, .data2 = size, .op = AluOp::multiply});
    math_.add(x_, x_, alpha, p_);
    math_.add(r_, r_, alpha, ap_, true);
    k_.tensor_tensor({.dst = passes_, .data1 = passes_, .data2 = size, .op = AluOp::add});
    math_.dot(rr_, r_, r_);
    precondition();
    math_.dot(next, r_, z_);
    k_.tensor_scalar({.dst = safe, .data = rz_, .op0 = AluOp::equal, .operand0 = 0.0});
    k_.tensor_tensor({.dst = safe, .data1 = safe, .data2 = rz_, .op = AluOp::add});
    math_.divide(beta, next, safe);
    math_.add(p_, z_, beta, p_);
    k_.tensor_copy({.dst = rz_, .src = next});
  }

  Kernel& k_;
  std::int64_t n_;
  VectorMath math_;
  ResidentMatrix a_;
  std::optional<ResidentMatrix> m_;
  View inverse_, b_, x_, limits_, r_, z_, p_, ap_, passes_, rr_, bb_, went_, rz_, target_;
};

}  // namespace

Program conjugate_gradient(const SolverConfig& c, Target target) {
  require_solver("conjugate_gradient", c);
  Kernel k("conjugate_gradient", target);
  ConjugateGradient(k, c).run();
  return k.finish();
}

}  // namespace kiln::kernels
