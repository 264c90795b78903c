#include "kiln/sim/operand.h"

#include <fmt/format.h>

namespace kiln::sim {

Region region_of(const Operand& o) {
  const isa::Tile& t = o.tile;
  const std::int64_t row_bytes = o.storage->row_bytes;
  if (t.row_offset || t.column || row_bytes == 0) return {0, o.storage->rows, 0, row_bytes};
  std::int64_t begin = t.data - o.storage->data, end = begin + t.element_bytes();
  for (int d = 0; d < t.free_rank; ++d) {
    const std::int64_t reach = t.free[d].stride * (t.free[d].count - 1) * t.element_bytes();
    (reach < 0 ? begin : end) += reach;
  }
  if (o.storage->rows == 1) {  // HBM: rows of the tile are strides too
    const std::int64_t reach = t.row_bytes * (t.rows - 1);
    (reach < 0 ? begin : end) += reach;
    return {0, 1, begin, end};
  }
  const std::int64_t row = begin / row_bytes;
  return {row, row + t.rows, begin - row * row_bytes, end - row * row_bytes};
}

std::string index_text(const isa::Access& a, std::int64_t element) {
  std::int64_t index[isa::kMaxRank];
  for (int d = a.rank - 1; d >= 0; --d) {
    index[d] = element % a.dims[d].count;
    element /= a.dims[d].count;
  }
  std::string text = "[";
  for (int d = 0; d < a.rank; ++d) text += fmt::format("{}{}", d ? ", " : "", index[d]);
  return text + "]";
}

}  // namespace kiln::sim
