// Products whose second operand does not fit SBUF: several blocks of rows meet each piece of it, so that it is read
// once for all of them.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;

namespace {

constexpr std::int64_t kPiece = 512;             // columns of the second operand at a time
constexpr std::int64_t kTurnedBytes = 96 << 10;  // of a partition, for the rows of all blocks
constexpr std::int64_t kPieceBytes = 40 << 10;   // and for a piece

}  // namespace

// How many blocks of rows are worth working on together; 1: it does not help, or the region is more than one product
// with elementwise ops around it.
std::int64_t RegionEmitter::blocks_together() const {
  if (layout_.packed != 1 || !layout_.loops.empty() || layout_.stores.empty()) return 1;
  if (graph_.type(layout_.stores[0].value).shape.empty()) return 1;
  const std::int64_t blocks = layout_.partitions / arch_.partitions;
  const std::int64_t columns = graph_.type(layout_.stores[0].value).shape.back();
  Cone cone;
  for (const Leaf& store : layout_.stores) {
    if (storage_.residency.kept.contains(store.value) || !goes_in_pieces(store.value, columns)) return 1;
    gather_cone(store.value, columns, cone);
  }
  if (cone.products.size() != 1 || !cone.columns.empty()) return 1;
  const Value v = cone.products[0];
  const int leaf = layout_.load_of.at({v, 1});
  if (scopes_[0].matrices.contains(leaf)) return 1;
  const std::int64_t k_blocks = (layout_.loads[leaf].free[0].count + kBlock - 1) / kBlock;
  const std::int64_t bytes = size_bytes(graph_.type(layout_.loads[leaf].value).dtype);
  if (k_blocks * kPiece * bytes > kPieceBytes) return 1;
  return std::min({options_.row_blocks, blocks, kTurnedBytes / (k_blocks * kBlock * bytes)});
}

void RegionEmitter::over_row_blocks(std::int64_t together) {
  Cone cone;
  const std::int64_t columns = graph_.type(layout_.stores[0].value).shape.back();
  for (const Leaf& store : layout_.stores) gather_cone(store.value, columns, cone);
  const Value v = cone.products[0], x = graph_.op(v).operands[0];
  const int leaf = layout_.load_of.at({v, 1});
  const std::int64_t K = graph_.type(x).shape.back(), width = (K + kBlock - 1) / kBlock * kBlock;
  const std::int64_t at_once = together * kBlock;
  rows_ = kBlock;
  k_.tiles(layout_.partitions / at_once * at_once, at_once, [&](Index first, std::int64_t) {
    const Tile all = new_tile(k_, Memory::sbuf, std::min(K, kBlock), {1, {together * width}}, graph_.type(x).dtype);
    const auto rows_of = [&](Index j) { return Tile{all.storage, j * width, {0, 1}, {{1, width}}, all.rows}; };
    k_.loop(together, [&](Index j) {
      start_ = first + j * kBlock;
      scopes_.emplace_back();
      turn_rows(v, rows_of(j));
      scopes_.pop_back();
    });
    k_.tiles(columns, kPiece, [&](Index column, std::int64_t n) {
      scopes_.emplace_back();
      scopes_.back().pieces[leaf] = load_matrix(leaf, column, n);
      k_.loop(together, [&](Index j) {
        start_ = first + j * kBlock;
        columns_ = Columns{columns, n, column};
        scopes_.emplace_back();
        scopes_.back().turned[x] = rows_of(j);
        for (const Leaf& store_leaf : layout_.stores) store(store_leaf, value(store_leaf.value));
        scopes_.pop_back();
        columns_.reset();
      });
      scopes_.pop_back();
    });
  });
  const std::int64_t done = layout_.partitions / at_once * at_once;
  k_.tiles(layout_.partitions - done, arch_.partitions,
           [&](Index start, std::int64_t rows) { body(done + start, rows); });
}

}  // namespace kiln::tensor
