// Matrices that are results of other regions, with more than 128 rows, which lie in SBUF (residency.h).
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

// Blocks of rows, beside each other in dst, each `wide` columns.
void RegionEmitter::copy_blocks(const Tile& dst, const KeptShape& shape, const Leaf& leaf, std::int64_t wide) {
  const View& rows = storage_.kept.at(leaf.base).storage;
  const std::int64_t row = dst.storage.dim(1), columns = leaf.free[1].count, pitch = shape.pitch();
  const std::int64_t last = shape.rows_of(shape.blocks - 1), whole = last == kBlock ? shape.blocks : shape.blocks - 1;
  const Index at = place_in_row(leaf);
  k_.tensor_copy({.dst = dst.storage.ap({{row, kBlock}, {wide, whole}, {1, columns}}),
                  .src = rows.ap({{rows.dim(1), kBlock}, {pitch, whole}, {1, columns}}, at)});
  if (whole == shape.blocks) return;
  k_.tensor_copy({.dst = dst.storage.ap({{row, last}, {1, columns}}, whole * wide),
                  .src = rows.ap({{rows.dim(1), last}, {1, columns}}, at + whole * pitch)});
}

// Rows from `at` on as columns of dst, from block `first` to block `first + blocks`: as many as fit a bank of PSUM
// leave it at once.
void RegionEmitter::turn_blocks(const Tile& dst, const KeptShape& shape, const View& rows, const Index& at,
                                std::int64_t first, std::int64_t blocks) {
  const std::int64_t depth = dst.rows, pitch = shape.pitch(), wide = dst.storage.dim(1);
  const std::int64_t most = arch_.psum_bank_bytes / (kBlock * size_bytes(rows.dtype()));
  for (std::int64_t b = first, m = 0; b < first + blocks; b += m) {
    m = std::min(most, first + blocks - b);
    const std::int64_t last = blocks == shape.blocks ? shape.rows_of(b + m - 1) : kBlock;
    const std::int64_t columns = (m - 1) * kBlock + last;
    const View turned = k_.psum({depth, columns}, rows.dtype());
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t n = i + 1 < m ? kBlock : last;
      k_.nc_transpose({.dst = turned.ap({{columns, depth}, {1, n}}, i * kBlock),
                       .data = rows.ap({{rows.dim(1), n}, {1, depth}}, at + (b + i) * pitch)});
    }
    k_.tensor_copy({.dst = dst.storage.ap({{wide, depth}, {1, columns}}, dst.offset + (b - first) * kBlock),
                    .src = turned,
                    .engine = evacuator()});
  }
}

// All of a matrix: (rows to sum over on partitions, blocks of them, columns).
Tile RegionEmitter::matrix_of_blocks(const Leaf& leaf, const KeptShape& shape) {
  const std::int64_t K = leaf.free[0].count, columns = leaf.free[1].count;
  const DType t = graph_.type(leaf.value).dtype;
  const bool straight = leaf.free[0].stride == shape.row && K == shape.all;
  if (straight && !attention_ && layout_.packed == 1 && layout_.spread.empty() && leaf.free[1].stride == 1)
    return {
        storage_.kept.at(leaf.base).storage, place_in_row(leaf), {0, 1}, {{shape.pitch(), 1}, {1, columns}}, kBlock};
  const std::int64_t blocks = (K + kBlock - 1) / kBlock;
  const Tile out = new_tile(k_, Memory::sbuf, std::min(K, kBlock), {1, {blocks * columns}}, t);
  if (straight) {
    copy_blocks(out, shape, leaf, columns);
    return out;
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    Tile part = out;
    part.rows = std::min(kBlock, K - b * kBlock);
    part.offset = b * columns;
    turn_blocks(part, shape, storage_.kept.at(leaf.base).storage, place_in_row(leaf) + b * kBlock, 0, shape.blocks);
  }
  return out;
}

// The shape of a kept result whose columns are the rows of the first operand of a product.
const KeptShape* RegionEmitter::kept_as_columns(Value v) const {
  const auto found = layout_.load_of.find({v, 0});
  if (found == layout_.load_of.end()) return nullptr;
  const Leaf& leaf = layout_.loads[found->second];
  const KeptShape* shape = kept_blocks(leaf.base);
  return shape && finds_columns(layout_, leaf, *shape) ? shape : nullptr;
}

// These rows, where they lie.
Tile RegionEmitter::columns_of_blocks(Value v, const KeptShape& shape) const {
  const Leaf& leaf = layout_.loads[layout_.load_of.at({v, 0})];
  return {storage_.kept.at(leaf.base).storage, start_ + leaf.offset, {0, 1}, {{shape.pitch(), 1}, {1, rows_}}, kBlock};
}

}  // namespace kiln::tensor
