#include "kernels/blas/complex_loops.h"
#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {
enum Factor { alpha_re, alpha_im, beta_re, beta_im, minus_alpha_im, minus_beta_im };
}  // namespace

ComplexFactors::ComplexFactors(Kernel& k, Scalar alpha, Scalar beta) : k_(k), alpha_(alpha), beta_(beta) {
  if (alpha != Scalar::given && beta != Scalar::given) return;
  const View scalars = k.input("scalars", {1, 4}, f32);
  factors_ = k.sbuf({kTile, 6}, f32);
  k.dma_copy({.dst = factors_(all, ds(0, 4)), .src = scalars.broadcast(0, kTile)});
  k.tensor_scalar(
      {.dst = factors_(all, ds(4, 2)), .data = factors_(all, ds(1, 2, 2)), .op0 = AluOp::multiply, .operand0 = -1.0});
}

View ComplexFactors::factor(int which, std::int64_t rows) const { return factors_(ds(0, rows), ds(which, 1)); }

void ComplexFactors::add_times(const View& to, const View& x, int which) const {
  k_.scalar_tensor_tensor({.dst = to,
                           .data = x,
                           .op0 = AluOp::multiply,
                           .operand0 = factor(which, x.dim(0)),
                           .op1 = AluOp::add,
                           .operand1 = to});
}

void ComplexFactors::apply(const View& out, const View& re, const View& im, const View& c) const {
  const auto part = [](const View& x, int i) { return x(all, all, ds(i, 1)).squeeze_dim(2); };
  const View out_re = part(out, 0), out_im = part(out, 1);
  if (alpha_ == Scalar::given) {
    const auto times = [&](const View& to, const View& x) {
      k_.tensor_scalar({.dst = to,
                        .data = x,
                        .op0 = AluOp::multiply,
                        .operand0 = factor(alpha_re, x.dim(0)),
                        .engine = Engine::vector});
    };
    times(out_re, re);
    times(out_im, im);
    add_times(out_re, im, minus_alpha_im);
    add_times(out_im, re, alpha_im);
  }
  if (beta_ == Scalar::zero) return;
  if (beta_ == Scalar::one) {
    k_.tensor_tensor({.dst = out, .data1 = out, .data2 = c, .op = AluOp::add});
    return;
  }
  const View c_re = part(c, 0), c_im = part(c, 1);
  add_times(out_re, c_re, beta_re);
  add_times(out_re, c_im, minus_beta_im);
  add_times(out_im, c_im, beta_re);
  add_times(out_im, c_re, beta_im);
}

}  // namespace kiln::kernels
