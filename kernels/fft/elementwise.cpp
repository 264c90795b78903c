#include "kernels/fft/elementwise.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/pointwise.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kWidth = 1024;  // complex numbers of a partition at once
constexpr double kLeast = 1e-8;

View part(const View& x, int i) { return x(all, all, ds(i, 1)).squeeze_dim(2); }

// Complex numbers in tiles, [partitions, width, 2], and what is made of them one by one.
struct Numbers {
  Kernel& k;
  View x, bias;

  View tile() const { return k.sbuf({x.dim(0), x.dim(1)}, f32); }
  View two(AluOp op, const View& a, const View& b, Engine engine = Engine::vector) const {
    const View to = tile();
    k.tensor_tensor({.dst = to, .data1 = a, .data2 = b, .op = op, .engine = engine});
    return to;
  }
  View with(AluOp op, const View& a, double b) const {
    const View to = tile();
    k.tensor_scalar({.dst = to, .data = a, .op0 = op, .operand0 = b, .engine = Engine::vector});
    return to;
  }
  // Re(x y*)
  View dot(const View& y) const {
    const View re = two(AluOp::multiply, part(x, 0), part(y, 0));
    return two(AluOp::add, re, two(AluOp::multiply, part(x, 1), part(y, 1), Engine::gpsimd));
  }
  View root(const View& square) const {
    const View to = tile();
    k.activation({.dst = to, .op = ActFn::sqrt, .data = square});
    return to;
  }
  View inverse(const View& a) const {
    const View to = tile();
    k.reciprocal({.dst = to, .data = a});
    return to;
  }
};

// Of each number: its square, its size, one over it, and relu(size + bias) / size.
struct Sizes {
  View square, inverse, shifted, factor;
  explicit Sizes(const Numbers& n) {
    square = n.dot(n.x);
    const View size = n.root(n.with(AluOp::maximum, square, kLeast * kLeast));
    inverse = n.inverse(size);
    shifted = n.two(AluOp::add, size, n.bias);
    factor = n.two(AluOp::multiply, n.with(AluOp::maximum, shifted, 0.0), inverse);
  }
};

// Parts of x [partitions, width, 2] times a factor for each number.
void scale_numbers(Kernel& k, const View& to, const View& x, const View& factor) {
  for (int i = 0; i < 2; ++i)
    k.tensor_tensor({.dst = part(to, i),
                     .data1 = part(x, i),
                     .data2 = factor,
                     .op = AluOp::multiply,
                     .engine = i == 0 ? Engine::vector : Engine::gpsimd});
}

// The part of the bias' gradient that each number has; dx = factor gradient - that bias / |x|² x, where |x| counts.
View backward(Kernel& k, const View& dx, const Numbers& n, const View& gradient) {
  const Sizes s(n);
  const View active = n.with(AluOp::greater, s.shifted, 0.0),
             counts = n.with(AluOp::greater_equal, s.square, kLeast * kLeast);
  const View of_bias = n.two(AluOp::multiply, n.two(AluOp::multiply, active, n.dot(gradient)), s.inverse);
  const View inverse_square = n.two(AluOp::multiply, s.inverse, s.inverse, Engine::gpsimd);
  const View shared = n.two(AluOp::multiply, n.two(AluOp::multiply, of_bias, n.bias), inverse_square);
  const View along = k.sbuf(n.x.shape(), f32);
  scale_numbers(k, along, n.x, n.two(AluOp::multiply, shared, counts));
  scale_numbers(k, dx, gradient, s.factor);
  k.tensor_tensor({.dst = dx, .data1 = dx, .data2 = along, .op = AluOp::subtract, .engine = Engine::vector});
  return of_bias;
}

// to [1, width] = the sums of columns.
void store_column_sums(Kernel& k, const View& to, const View& columns) {
  const View ones = k.sbuf({columns.dim(0), 1}, f32), out = k.sbuf({1, columns.dim(1)}, f32);
  k.memset({.dst = ones, .value = 1.0});
  for (const Piece& p : whole_pieces(columns.dim(1), kWide)) {
    const View sum = k.psum({1, kWide}, f32)(all, ds(0, p.size));
    k.nc_matmul({.dst = sum, .stationary = ones, .moving = columns(all, ds(p.start, p.size))});
    evict(k, out(all, ds(p.start, p.size)), sum, 1);
  }
  k.dma_copy({.dst = to, .src = out});
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
    const View b = k.sbuf({kTile, width}, f32);
    k.dma_copy({.dst = b, .src = bias(all, ds(first, width)).broadcast(0, kTile)});
    k.tiles(rows, kTile, [&](Index row, std::int64_t some) {
      const View in = k.sbuf({some, width, 2}, f32), out = k.sbuf({some, width, 2}, f32);
      const auto place = [&](const View& v) { return v(ds(row, some), ds(first * 2, 2 * width)); };
      k.dma_copy({.dst = in.flatten_dims(1, 2), .src = place(x)});
      scale_numbers(k, out, in, Sizes({k, in, b(ds(0, some))}).factor);
      k.dma_copy({.dst = place(y), .src = out.flatten_dims(1, 2)});
    });
  });
  return k.finish();
}

Program mod_relu_backward(std::int64_t rows, std::int64_t features, Target target) {
  require_sizes("mod_relu_backward", {rows, features});
  Kernel k("mod_relu_backward", target);
  const View x = k.input("x", {rows, 2 * features}, f32), bias = k.input("bias", {1, features}, f32);
  const View gradient = k.input("gradient", {rows, 2 * features}, f32);
  const View dx = k.output("dx", {rows, 2 * features}, f32), dbias = k.output("dbias", {1, features}, f32);
  k.tiles(features, kWide, [&](Index first, std::int64_t width) {
    const View b = k.sbuf({kTile, width}, f32), sums = k.sbuf({kTile, width}, f32);
    k.dma_copy({.dst = b, .src = bias(all, ds(first, width)).broadcast(0, kTile)});
    k.memset({.dst = sums, .value = 0.0});
    k.tiles(rows, kTile, [&](Index row, std::int64_t some) {
      const auto tile = [&] { return k.sbuf({some, width, 2}, f32); };
      const View in = tile(), g = tile(), out = tile();
      const auto place = [&](const View& v) { return v(ds(row, some), ds(first * 2, 2 * width)); };
      k.dma_copy({.dst = in.flatten_dims(1, 2), .src = place(x)});
      k.dma_copy({.dst = g.flatten_dims(1, 2), .src = place(gradient)});
      const View mine = sums(ds(0, some)), of_bias = backward(k, out, {k, in, b(ds(0, some))}, g);
      k.tensor_tensor({.dst = mine, .data1 = mine, .data2 = of_bias, .op = AluOp::add, .engine = Engine::gpsimd});
      k.dma_copy({.dst = place(dx), .src = out.flatten_dims(1, 2)});
    });
    store_column_sums(k, dbias(all, ds(first, width)), sums);
  });
  return k.finish();
}

}  // namespace kiln::kernels
