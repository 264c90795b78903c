#include "programs.h"

namespace kiln::examples {
using namespace isa;
namespace {
constexpr DType f32 = DType::float32;
constexpr std::int64_t kResident = 8192;  // columns of a row block that stay in SBUF

// One load, one store: the whole row block is in SBUF.
void resident(Kernel& k, const View& x, const View& out, Index r, std::int64_t m, std::int64_t columns) {
  const View t = k.sbuf({m, columns}, f32);
  const View negative_max = k.sbuf({m, 1}, f32), sum = k.sbuf({m, 1}, f32);
  k.dma_copy({.dst = t, .src = x(ds(r, m))});
  k.tensor_reduce({.dst = negative_max, .op = AluOp::maximum, .data = t, .axis = {1}, .negate = true});
  k.activation({.dst = t,
                .op = ActFn::exp,
                .data = t,
                .bias = negative_max,
                .reduce_op = AluOp::add,
                .reduce_res = sum,
                .reduce_cmd = ReduceCmd::reset_reduce});
  k.reciprocal({.dst = sum, .data = sum});
  k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = sum});
  k.dma_copy({.dst = out(ds(r, m)), .src = t});
}

// Three passes over pieces of the row: maximum, sum, result.
void streamed(Kernel& k, const View& x, const View& out, Index r, std::int64_t m, std::int64_t columns) {
  const View negative_max = k.sbuf({m, 1}, f32), sum = k.sbuf({m, 1}, f32);
  const auto pieces = [&](auto&& body) {
    k.tiles(columns, kResident, [&](Index c, std::int64_t n) {
      const View t = k.sbuf({m, n}, f32);
      k.dma_copy({.dst = t, .src = x(ds(r, m), ds(c, n))});
      body(t, c, n);
    });
  };
  k.memset({.dst = negative_max, .value = 3.0e38});
  k.memset({.dst = sum, .value = 0.0});
  pieces([&](const View& t, Index, std::int64_t) {
    const View piece = k.sbuf({m, 1}, f32);
    k.tensor_reduce({.dst = piece, .op = AluOp::maximum, .data = t, .axis = {1}, .negate = true});
    k.tensor_tensor({.dst = negative_max, .data1 = negative_max, .data2 = piece, .op = AluOp::minimum});
  });
  pieces([&](const View& t, Index, std::int64_t) {
    const View piece = k.sbuf({m, 1}, f32);
    k.activation({.dst = t,
                  .op = ActFn::exp,
                  .data = t,
                  .bias = negative_max,
                  .reduce_op = AluOp::add,
                  .reduce_res = piece,
                  .reduce_cmd = ReduceCmd::reset_reduce});
    k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = piece, .op = AluOp::add});
  });
  k.reciprocal({.dst = sum, .data = sum});
  pieces([&](const View& t, Index c, std::int64_t n) {
    k.activation({.dst = t, .op = ActFn::exp, .data = t, .bias = negative_max});
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = sum});
    k.dma_copy({.dst = out(ds(r, m), ds(c, n)), .src = t});
  });
}

}  // namespace

Program softmax(std::int64_t rows, std::int64_t columns, Target target) {
  Kernel k("softmax", target);
  const View x = k.input("x", {rows, columns}, f32);
  const View out = k.output("out", {rows, columns}, f32);
  k.tiles(rows, 128, [&](Index r, std::int64_t m) {
    columns <= kResident ? resident(k, x, out, r, m, columns) : streamed(k, x, out, r, m, columns);
  });
  return k.finish();
}

}  // namespace kiln::examples
