#include "programs.h"

namespace kiln::examples {
using namespace isa;

Program block_sparse(std::int64_t row_blocks, std::int64_t column_blocks, std::int64_t block_count, std::int64_t N,
                     Target target) {
  constexpr DType f32 = DType::float32;
  constexpr std::int64_t kBlock = 128;
  Kernel k("block_sparse", target);
  const View blocks = k.input("blocks", {block_count, kBlock, kBlock}, f32);
  const View row_start = k.input("row_start", {row_blocks + 1}, DType::int32);
  const View column = k.input("column", {block_count}, DType::int32);
  const View b = k.input("b", {column_blocks * kBlock, N}, f32);
  const View c = k.output("c", {row_blocks * kBlock, N}, f32);
  const Reg first = k.reg(0), last = k.reg(0), at = k.reg(0);
  k.loop(row_blocks, [&](Index row) {
    k.register_load({.dst = first, .src = row_start(ds(row, 1))});
    k.register_load({.dst = last, .src = row_start(ds(row + 1, 1))});
    k.tiles(N, 512, [&](Index n0, std::int64_t n) {
      const View sum = k.sbuf({kBlock, n}, f32);
      k.memset({.dst = sum, .value = 0.0});  // what a row without blocks holds
      k.fori_loop(first, last, [&](Reg e) {
        const View stationary = k.sbuf({kBlock, kBlock}, f32), moving = k.sbuf({kBlock, n}, f32);
        k.register_load({.dst = at, .src = column(ds(0, 1)).scalar_offset(e, 1)});
        k.dma_copy({.dst = stationary, .src = blocks(0).scalar_offset(e, kBlock * kBlock)});
        k.dma_copy({.dst = moving, .src = b(ds(0, kBlock), ds(n0, n)).scalar_offset(at, kBlock * N)});
        // Summed in SBUF: which product is the first is known only at run time, so PSUM cannot be told to
        // overwrite.
        const View product = k.psum({kBlock, n}, f32);
        k.nc_matmul({.dst = product, .stationary = stationary, .moving = moving, .accumulate = false});
        k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = product, .op = AluOp::add});
      });
      k.dma_copy({.dst = c(ds(row * kBlock, kBlock), ds(n0, n)), .src = sum});
    });
  });
  return k.finish();
}

}  // namespace kiln::examples
