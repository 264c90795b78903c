#include "kernels/blas/compensated.h"

#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {}

CompensatedSum::CompensatedSum(Kernel& k, std::int64_t rows, std::int64_t columns)
    : k_(k), hi_(k.sbuf({rows, columns}, f32)), lo_(k.sbuf({rows, columns}, f32)) {
  k.memset({.dst = hi_, .value = 0.0});
  k.memset({.dst = lo_, .value = 0.0});
}

void CompensatedSum::add(const View& x) { add(hi_(all, ds(0, x.dim(1))), lo_(all, ds(0, x.dim(1))), x); }

void CompensatedSum::add(const View& hi, const View& lo, const View& x) {
  const auto tile = [&] { return k_.sbuf(x.shape(), f32); };
  const auto apply = [&](const View& to, const View& a, const View& b, AluOp op) {
    k_.tensor_tensor({.dst = to, .data1 = a, .data2 = b, .op = op, .engine = Engine::vector});
  };
  const View sum = tile(), part = tile(), rest = tile();
  apply(sum, hi, x, AluOp::add);
  apply(part, sum, hi, AluOp::subtract);  // what of x went into the sum
  apply(rest, sum, part, AluOp::subtract);
  apply(rest, hi, rest, AluOp::subtract);  // what of hi did not
  apply(part, x, part, AluOp::subtract);
  apply(rest, rest, part, AluOp::add);
  apply(lo, lo, rest, AluOp::add);
  k_.tensor_copy({.dst = hi, .src = sum, .engine = Engine::vector});
}

// Adds the second half of the columns to the first.
void CompensatedSum::fold(View& hi, View& lo) {
  while (hi.dim(1) > 1) {
    const std::int64_t n = hi.dim(1), rest = n / 2, kept = n - rest;
    const View h = hi(all, ds(0, rest)), l = lo(all, ds(0, rest));
    add(h, l, hi(all, ds(kept, rest)));
    k_.tensor_tensor(
        {.dst = l, .data1 = l, .data2 = lo(all, ds(kept, rest)), .op = AluOp::add, .engine = Engine::vector});
    hi = hi(all, ds(0, kept)), lo = lo(all, ds(0, kept));
  }
}

// A column as a row: [P, 1] to [1, P].
View CompensatedSum::turned(const View& column) {
  const View turned = k_.psum({1, column.dim(0)}, f32), row = k_.sbuf({1, column.dim(0)}, f32);
  k_.nc_transpose({.dst = turned, .data = column});
  k_.tensor_copy({.dst = row, .src = turned});
  return row;
}

void CompensatedSum::store_total(const View& to) {
  View hi = hi_, lo = lo_;
  fold(hi, lo);
  View hi_row = turned(hi), lo_row = turned(lo);
  fold(hi_row, lo_row);
  const View total = k_.sbuf({1, 2}, f32), first = total(all, ds(0, 1)), second = total(all, ds(1, 1));
  k_.memset({.dst = second, .value = 0.0});
  k_.tensor_copy({.dst = first, .src = hi_row});
  add(first, second, lo_row);
  k_.dma_copy({.dst = to, .src = total});
}

}  // namespace kiln::kernels
