#include "kernels/fft/row_blocks.h"

#include <algorithm>

#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

View RowBlock::places(const View& v, std::int64_t size, const Index& from, std::int64_t step, const Index& number,
                      bool back) const {
  const std::int64_t piece = size * width, stride = v.stride(0);
  return v.ap({{step * stride, rows}, {back ? -piece : piece, pieces}, {1, piece}},
              from * stride + v.offset() + number * size);
}

// Pieces of `count` numbers on partitions of their own: all that there is room for, or some fewer that leave no rest,
// which would take as long to come and go.
static std::int64_t pieces_of(std::int64_t count, std::int64_t room, std::int64_t most) {
  for (std::int64_t pieces = room; 4 * pieces > 3 * room; --pieces) {
    if (count % (pieces * tiles_of(count, pieces * most)) == 0) return pieces;
  }
  return room;
}

static void blocks_of_rows(Kernel& k, RowBlock b, std::int64_t first, std::int64_t count, std::int64_t most,
                           const std::function<void(const RowBlock&)>& body) {
  const std::int64_t pieces = pieces_of(count, std::min(kTile / b.rows, count), most),
                     steps = tiles_of(count, pieces * most);
  const std::int64_t width = count / (pieces * steps), whole = pieces * steps * width;
  k.loop(steps, [&](Index i) {
    b.first = i * (pieces * width) + first, b.pieces = pieces, b.width = width;
    body(b);
  });
  if (whole == count) return;
  b.first = whole + first, b.pieces = 1, b.width = count - whole;
  body(b);
}

void row_blocks(Kernel& k, std::int64_t rows, std::int64_t first, std::int64_t count, std::int64_t width,
                const std::function<void(const RowBlock&)>& body) {
  if (rows < 1 || count < 1) return;
  k.tiles(rows, kTile, [&](Index row, std::int64_t some) {
    blocks_of_rows(k, {.row = row, .rows = some}, first, count, width, body);
  });
}

}  // namespace kiln::kernels
