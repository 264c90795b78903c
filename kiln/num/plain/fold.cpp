#include "kiln/num/plain/arith.h"
#include "kiln/num/plain/plain.h"

namespace kiln::plain {

void fold_rows(AluOp op, const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* row = x + static_cast<std::ptrdiff_t>(r) * row_stride;
    for (std::size_t i = 0; i < n; ++i) acc[r] = arith(op, acc[r], row[i]);
  }
}

}  // namespace kiln::plain
