#include <cmath>

#include "programs.h"

namespace kiln::examples {
using namespace isa;
namespace {
constexpr DType f32 = DType::float32;

// What is known about a block of queries after the keys seen so far.
struct Running {
  View negative_max, sum, out;  // -max of the scaled scores, Σ e^(score - max), Σ e^(score - max) v
};

// Folds a block of keys and values into the running softmax.
void add_keys(Kernel& k, const Running& run, const View& q, const View& keys, const View& values, double scale) {
  const std::int64_t m = q.dim(1), n = keys.dim(1), depth = values.dim(1);
  const View scores = k.psum({m, n}, f32);
  k.nc_matmul({.dst = scores, .stationary = q, .moving = keys});

  const View next = k.sbuf({m, 1}, f32), fade = k.sbuf({m, 1}, f32), sum = k.sbuf({m, 1}, f32);
  k.tensor_reduce({.dst = next, .op = AluOp::maximum, .data = scores, .axis = {1}, .negate = true});
  k.tensor_scalar({.dst = next, .data = next, .op0 = AluOp::multiply, .operand0 = scale});
  k.tensor_tensor({.dst = next, .data1 = next, .data2 = run.negative_max, .op = AluOp::minimum});

  // Everything summed so far was relative to the old maximum.
  k.tensor_tensor({.dst = fade, .data1 = next, .data2 = run.negative_max, .op = AluOp::subtract});
  k.activation({.dst = fade, .op = ActFn::exp, .data = fade});
  k.tensor_copy({.dst = run.negative_max, .src = next});

  const View p = k.sbuf({m, n}, f32);
  k.activation({.dst = p,
                .op = ActFn::exp,
                .data = scores,
                .bias = next,
                .scale = scale,
                .reduce_op = AluOp::add,
                .reduce_res = sum,
                .reduce_cmd = ReduceCmd::reset_reduce});
  k.scalar_tensor_tensor(
      {.dst = run.sum, .data = run.sum, .op0 = AluOp::multiply, .operand0 = fade, .op1 = AluOp::add, .operand1 = sum});

  // The contraction runs over keys, so they have to lie on the partitions.
  const View turned = k.psum({n, m}, f32), p_t = k.sbuf({n, m}, f32), pv = k.psum({m, depth}, f32);
  k.nc_transpose({.dst = turned, .data = p});
  k.tensor_copy({.dst = p_t, .src = turned});
  k.nc_matmul({.dst = pv, .stationary = p_t, .moving = values});
  k.scalar_tensor_tensor(
      {.dst = run.out, .data = run.out, .op0 = AluOp::multiply, .operand0 = fade, .op1 = AluOp::add, .operand1 = pv});
}

}  // namespace

Program attention(std::int64_t heads, std::int64_t sequence, std::int64_t depth, Target target) {
  Kernel k("attention", target);
  const View q_t = k.input("q_t", {heads, depth, sequence}, f32);
  const View k_t = k.input("k_t", {heads, depth, sequence}, f32);
  const View v = k.input("v", {heads, sequence, depth}, f32);
  const View out = k.output("out", {heads, sequence, depth}, f32);
  const double scale = 1.0 / std::sqrt(static_cast<double>(depth));
  k.loop(heads, [&](Index h) {
    k.tiles(sequence, 128, [&](Index s, std::int64_t m) {
      const View q = k.sbuf({depth, m}, f32);
      const Running run{k.sbuf({m, 1}, f32), k.sbuf({m, 1}, f32), k.sbuf({m, depth}, f32)};
      k.dma_copy({.dst = q, .src = q_t(h, all, ds(s, m))});
      k.memset({.dst = run.negative_max, .value = 3.0e38});
      k.memset({.dst = run.sum, .value = 0.0});
      k.memset({.dst = run.out, .value = 0.0});
      k.tiles(sequence, 128, [&](Index j, std::int64_t n) {
        const View keys = k.sbuf({depth, n}, f32), values = k.sbuf({n, depth}, f32);
        k.dma_copy({.dst = keys, .src = k_t(h, all, ds(j, n))});
        k.dma_copy({.dst = values, .src = v(h, ds(j, n))});
        add_keys(k, run, q, keys, values, scale);
      });
      k.reciprocal({.dst = run.sum, .data = run.sum});
      k.tensor_scalar({.dst = run.out, .data = run.out, .op0 = AluOp::multiply, .operand0 = run.sum});
      k.dma_copy({.dst = out(h, ds(s, m)), .src = run.out});
    });
  });
  return k.finish();
}

}  // namespace kiln::examples
