// Vector addition and matrix transposition.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

// `count` tiles of rows x columns: two loads, an addition, a store.
void vector_add(Kernel& k, const Params& p) {
  const std::int64_t rows = p.number("rows", kTile), columns = p.number("columns", 1), count = p.number("count", 1);
  Mover move(k, p);
  const View a = k.input("a", {rows, count * columns}, kF32), b = k.input("b", {rows, count * columns}, kF32);
  const View out = k.output("out", {rows, count * columns}, kF32);
  k.loop(count, [&](Index i) {
    const View x = k.sbuf({rows, columns}, kF32), y = k.sbuf({rows, columns}, kF32), z = k.sbuf({rows, columns}, kF32);
    const Slice part = ds(i * columns, columns);
    move.load(x, a(all, part));
    move.load(y, b(all, part));
    k.tensor_tensor({.dst = z, .data1 = x, .data2 = y, .op = AluOp::add});
    move.store(out(all, part), z);
  });
}

void transpose(Kernel& k, const Params& p) {
  const std::int64_t n = p.number("n");
  Mover move(k, p);
  const View in = k.input("in", {n, n}, kF32), out = k.output("out", {n, n}, kF32);
  k.loop(n / kTile, [&](Index r) {
    k.loop(n / kTile, [&](Index c) {
      const View tile = k.sbuf({kTile, kTile}, kF32), turned = k.psum({kTile, kTile}, kF32);
      const View result = k.sbuf({kTile, kTile}, kF32);
      move.load(tile, in(ds(r * kTile, kTile), ds(c * kTile, kTile)));
      k.nc_transpose({.dst = turned, .data = tile});
      k.tensor_copy({.dst = result, .src = turned, .engine = Engine::scalar});
      move.store(out(ds(c * kTile, kTile), ds(r * kTile, kTile)), result);
    });
  });
}

}  // namespace

const KernelTable& other_kernels() {
  static const KernelTable table = {
      {"vector_add", vector_add},
      {"transpose", transpose},
  };
  return table;
}

}  // namespace kiln::bench
