// One row that lies on one partition, on all of them: a product with ones, 512 columns at a time.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

std::optional<Tile> RegionEmitter::spread_kept(const Leaf& leaf) {
  const auto it = storage_.kept.find(leaf.base);
  if (it == storage_.kept.end()) return {};
  const Tile& row = it->second;
  if (!spreads(graph_, fusion_.regions[region_], layout_, leaf, {row.rows, row.count()})) return {};
  Dims from = leaf.free;
  isa::Index at = leaf.offset;
  if (columns_ && from.back().count == columns_->extent) {
    at += columns_->start;
    from.back().count = columns_->size;
  }
  constexpr std::int64_t kColumns = 512;
  const std::int64_t all = from.back().count;
  const DType t = graph_.type(leaf.value).dtype;
  Free free{1, {}};
  for (const isa::Dim& d : from) free.dims.push_back(d.stride == 0 ? 1 : d.count);
  Tile out = new_tile(k_, Memory::sbuf, rows_, free, t);
  const isa::View ones = k_.sbuf({1, rows_}, t);
  k_.memset({.dst = ones, .value = 1.0});
  for (std::int64_t column = 0; column < all; column += kColumns) {
    const std::int64_t n = std::min(kColumns, all - column);
    const isa::View sum = k_.psum({rows_, n}, DType::float32);
    k_.nc_matmul({.dst = sum, .stationary = ones, .moving = row.storage.ap({{row.count(), 1}, {1, n}}, at + column)});
    k_.tensor_copy({.dst = out.storage.ap({{all, rows_}, {1, n}}, column), .src = sum, .engine = evacuator()});
  }
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d].stride == 0) out.dims[d] = {0, from[d].count};
  }
  return out;
}

}  // namespace kiln::tensor
