#include "kernels/fft/frames.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/gemm_loops.h"

namespace kiln::kernels {
using namespace isa;

Program frames_product(const FramesConfig& c, Target target) {
  require_sizes("frames_product", {c.rows, c.samples, c.size, c.hop, c.width, c.samples - c.size + 1});
  Kernel k("frames_product", target);
  constexpr DType f32 = DType::float32;
  const View x = k.input("x", {c.rows, c.samples}, f32), matrix = k.input("matrix", {c.size, c.width}, f32);
  const View y = k.output("y", {c.rows, c.frames(), c.width}, f32);
  const GemmConfig product{.m = c.frames(), .n = c.width, .k = c.size};
  const Epilogue epilogue(k, product.alpha, product.beta);
  const auto one = [&](const Index& row) {
    GemmOperands operands;
    operands.a = {x.ap({{c.hop, c.frames()}, {1, c.size}}, row * c.samples), false};
    operands.b = {matrix, true};
    operands.to = y(ds(row, 1)).flatten_dims(0, 1);
    GemmLoops(k, product, epilogue, operands).run();
  };
  if (c.rows == 1)
    one(0);
  else
    k.loop(c.rows, one);
  return k.finish();
}

}  // namespace kiln::kernels
