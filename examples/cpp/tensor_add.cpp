#include "programs.h"

namespace kiln::examples {
using namespace isa;

Program tensor_add(std::int64_t rows, std::int64_t columns, Target target) {
  Kernel k("tensor_add", target);
  const View x = k.input("x", {rows, columns}, DType::float32);
  const View y = k.input("y", {rows, columns}, DType::float32);
  const View out = k.output("out", {rows, columns}, DType::float32);
  k.tiles(rows, 128, [&](Index r, std::int64_t m) {
    k.tiles(columns, 2048, [&](Index c, std::int64_t n) {
      const View a = k.sbuf({m, n}, DType::float32), b = k.sbuf({m, n}, DType::float32);
      k.dma_copy({.dst = a, .src = x(ds(r, m), ds(c, n))});
      k.dma_copy({.dst = b, .src = y(ds(r, m), ds(c, n))});
      k.tensor_tensor({.dst = a, .data1 = a, .data2 = b, .op = AluOp::add});
      k.dma_copy({.dst = out(ds(r, m), ds(c, n)), .src = a});
    });
  });
  return k.finish();
}

}  // namespace kiln::examples
