#include "kernels/fft/frames.h"

#include <algorithm>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/gemm_loops.h"
#include "kernels/fft/borders.h"
#include "kernels/fft/pointwise.h"

namespace kiln::kernels {
using namespace isa;

namespace {

// Products of all frames of x [rows, numbers], which is a whole tensor.
void products(Kernel& k, const FramesConfig& c, const View& x, const View& to) {
  const View matrix = k.input("matrix", {c.size, c.width}, f32);
  const GemmConfig product{.m = c.frames(), .n = c.width, .k = c.size};
  const Epilogue epilogue(k, product.alpha, product.beta);
  const auto one = [&](const Index& row) {
    GemmOperands operands;
    operands.a = {x.ap({{c.hop, c.frames()}, {1, c.size}}, row * c.padded()), false};
    operands.b = {matrix, true};
    operands.to = to(ds(row, 1)).flatten_dims(0, 1);
    GemmLoops(k, product, epilogue, operands).run();
  };
  if (c.rows == 1)
    one(0);
  else
    k.loop(c.rows, one);
}

}  // namespace

Program frames_product(const FramesConfig& c, Target target) {
  const std::int64_t total = c.frames() * c.width;
  require_sizes("frames_product",
                {c.rows, c.samples, c.size, c.hop, c.width, c.padded() - c.size + 1, total - c.first});
  Kernel k("frames_product", target);
  const View x = k.input("x", {c.rows, c.samples}, f32);
  View signal = x;
  if (c.pad > 0) {
    signal = k.hbm({c.rows, c.padded()}, f32);
    add_borders(k, c, x, signal);
  }
  if (c.kept == 0) {
    products(k, c, signal, k.output("y", {c.rows, c.frames(), c.width}, f32));
    return k.finish();
  }
  const View sums = k.hbm({c.rows, c.frames(), c.width}, f32), y = k.output("y", {c.rows, c.kept}, f32);
  const std::int64_t there = std::min(c.kept, total - c.first);
  const View weight = k.input("weight", {1, c.kept}, f32)(all, ds(0, there));
  products(k, c, signal, sums);
  multiply_rows(k, sums.flatten_dims(1, 2)(all, ds(c.first, there)), y, weight, RealRows::all);
  return k.finish();
}

}  // namespace kiln::kernels
