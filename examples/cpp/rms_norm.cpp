#include "programs.h"

namespace kiln::examples {
using namespace isa;
namespace {
constexpr DType f32 = DType::float32;
constexpr std::int64_t kPiece = 8192;  // columns in SBUF at a time
}  // namespace

Program rms_norm(std::int64_t rows, std::int64_t columns, Target target) {
  Kernel k("rms_norm", target);
  const View x = k.input("x", {rows, columns}, f32);
  const View gain = k.input("gain", {columns}, f32);
  const View out = k.output("out", {rows, columns}, f32);
  k.tiles(rows, 128, [&](Index r, std::int64_t m) {
    const View sum = k.sbuf({m, 1}, f32);
    k.memset({.dst = sum, .value = 0.0});
    k.tiles(columns, kPiece, [&](Index c, std::int64_t n) {
      const View t = k.sbuf({m, n}, f32), piece = k.sbuf({m, 1}, f32);
      k.dma_copy({.dst = t, .src = x(ds(r, m), ds(c, n))});
      k.activation({.dst = t,
                    .op = ActFn::square,
                    .data = t,
                    .reduce_op = AluOp::add,
                    .reduce_res = piece,
                    .reduce_cmd = ReduceCmd::reset_reduce});
      k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = piece, .op = AluOp::add});
    });
    // 1 / sqrt(sum / C + epsilon)
    k.tensor_scalar({.dst = sum,
                     .data = sum,
                     .op0 = AluOp::multiply,
                     .operand0 = 1.0 / static_cast<double>(columns),
                     .op1 = AluOp::add,
                     .operand1 = 1e-6});
    k.activation({.dst = sum, .op = ActFn::rsqrt, .data = sum});
    k.tiles(columns, kPiece, [&](Index c, std::int64_t n) {
      const View t = k.sbuf({m, n}, f32), g = k.sbuf({m, n}, f32);
      k.dma_copy({.dst = t, .src = x(ds(r, m), ds(c, n))});
      k.dma_copy({.dst = g, .src = gain(ds(c, n)).expand_dim(0).broadcast(0, m)});  // the same gain in every partition
      k.scalar_tensor_tensor(
          {.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = sum, .op1 = AluOp::multiply, .operand1 = g});
      k.dma_copy({.dst = out(ds(r, m), ds(c, n)), .src = t});
    });
  });
  return k.finish();
}

}  // namespace kiln::examples
