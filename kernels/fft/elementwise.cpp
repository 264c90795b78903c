#include "kernels/fft/elementwise.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/fft/pointwise.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kWidth = 1024;  // complex numbers of a partition at once
constexpr double kLeast = 1e-8;

View part(const View& x, int i) { return x(all, all, ds(i, 1)).squeeze_dim(2); }

// The factor of each number: relu(|x| + bias) / |x|.
View factor(Kernel& k, const View& x, const View& bias) {
  const auto tile = [&] { return k.sbuf({x.dim(0), x.dim(1)}, f32); };
  const View re = tile(), im = tile(), size = tile(), inverse = tile(), out = tile();
  const auto binary = [&](const View& to, const View& a, const View& b, AluOp op) {
    k.tensor_tensor({.dst = to, .data1 = a, .data2 = b, .op = op, .engine = Engine::vector});
  };
  binary(re, part(x, 0), part(x, 0), AluOp::multiply);
  binary(im, part(x, 1), part(x, 1), AluOp::multiply);
  binary(re, re, im, AluOp::add);
  k.tensor_scalar(
      {.dst = re, .data = re, .op0 = AluOp::maximum, .operand0 = kLeast * kLeast, .engine = Engine::vector});
  k.activation({.dst = size, .op = ActFn::sqrt, .data = re});
  k.reciprocal({.dst = inverse, .data = size});
  binary(out, size, bias, AluOp::add);
  k.tensor_scalar({.dst = out, .data = out, .op0 = AluOp::maximum, .operand0 = 0.0, .engine = Engine::vector});
  binary(out, out, inverse, AluOp::multiply);
  return out;
}

}  // namespace

Program complex_multiply(std::int64_t count, Target target) {
  require_sizes("complex_multiply", {count});
  Kernel k("complex_multiply", target);
  const View x = k.input("x", {1, 2 * count}, f32), t = k.input("t", {1, 2 * count}, f32);
  multiply_rows(k, x, k.output("y", {1, 2 * count}, f32), t);
  return k.finish();
}

Program mod_relu(std::int64_t rows, std::int64_t features, Target target) {
  require_sizes("mod_relu", {rows, features});
  Kernel k("mod_relu", target);
  const View x = k.input("x", {rows, 2 * features}, f32), bias = k.input("bias", {1, features}, f32);
  const View y = k.output("y", {rows, 2 * features}, f32);
  k.tiles(features, kWidth, [&](Index first, std::int64_t width) {
    const View b = k.sbuf({128, width}, f32);
    k.dma_copy({.dst = b, .src = bias(all, ds(first, width)).broadcast(0, 128)});
    k.tiles(rows, 128, [&](Index row, std::int64_t some) {
      const View in = k.sbuf({some, width, 2}, f32), out = k.sbuf({some, width, 2}, f32);
      const auto place = [&](const View& v) { return v(ds(row, some), ds(first * 2, 2 * width)); };
      k.dma_copy({.dst = in.flatten_dims(1, 2), .src = place(x)});
      const View f = factor(k, in, b(ds(0, some)));
      for (int i = 0; i < 2; ++i)
        k.tensor_tensor({.dst = part(out, i),
                         .data1 = part(in, i),
                         .data2 = f,
                         .op = AluOp::multiply,
                         .engine = i == 0 ? Engine::vector : Engine::gpsimd});
      k.dma_copy({.dst = place(y), .src = out.flatten_dims(1, 2)});
    });
  });
  return k.finish();
}

}  // namespace kiln::kernels
