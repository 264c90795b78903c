// Products whose second operand does not fit SBUF: several blocks of rows meet each piece of it, so that it is read
// once for all of them.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;

namespace {

constexpr std::int64_t kPiece = 512;             // columns of the second operand at a time
constexpr std::int64_t kTurnedBytes = 96 << 10;  // of a partition, for the rows of all blocks
constexpr std::int64_t kLongBytes = 128 << 10;   // the same when pieces come in parts
constexpr std::int64_t kPieceBytes = 40 << 10;   // and for a piece
constexpr std::int64_t kPartBytes = 16 << 10;    // for a part of one
constexpr std::int64_t kMostSums = 4;            // banks of PSUM, so that the next ones begin before these are stored

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
  if (k_blocks * kPiece * bytes > kPieceBytes && layout_.loads[leaf].free[1].stride != 1) return 1;
  if (k_blocks * kPiece * bytes > kPieceBytes)
    return std::min({kMostSums, blocks, kLongBytes / (k_blocks * kBlock * bytes)});
  return std::min({options_.row_blocks, blocks, kTurnedBytes / (k_blocks * kBlock * bytes)});
}

// Sums of products over more than a piece holds: parts of it meet all blocks of rows while their sums stay in PSUM.
isa::View RegionEmitter::add_parts(Value v, const Tile& rows, std::int64_t together, Index column, std::int64_t n,
                                   std::int64_t blocks) {
  const Leaf& leaf = layout_.loads[layout_.load_of.at({v, 1})];
  const std::int64_t K = leaf.free[0].count, sk = leaf.free[0].stride, sn = leaf.free[1].stride;
  const std::int64_t width = (K + kBlock - 1) / kBlock * kBlock;
  const isa::View& hbm = storage_.of.at(leaf.base);
  const isa::View sums = k_.psum({kBlock, together * kPiece}, DType::float32);
  const auto add = [&](Index first, std::int64_t k) {  // first: block of K
    const Tile part = new_tile(k_, Memory::sbuf, std::min(k, kBlock), {1, {(k + kBlock - 1) / kBlock * n}},
                               graph_.type(leaf.value).dtype);
    load_block(part, hbm, storage_.begin(leaf.base) + leaf.offset + column * sn + first * (kBlock * sk), k, sk, n, sn);
    k_.loop(together, [&](Index j) {
      over_blocks(k_, k, [&](Index b, std::int64_t m) {
        k_.nc_matmul(
            {.dst = sums.ap({{together * kPiece, kBlock}, {1, n}}, j * kPiece),
             .stationary = rows.storage.ap({{rows.storage.dim(1), m}, {1, kBlock}}, j * width + (first + b) * kBlock),
             .moving = block(part, b, 0, m, n, n)});
      });
    });
  };
  const std::int64_t whole = K / (blocks * kBlock);
  k_.loop(whole, [&](Index i) { add(i * blocks, blocks * kBlock); });
  if (const std::int64_t rest = K - whole * blocks * kBlock) add(whole * blocks, rest);
  return sums;
}

void RegionEmitter::over_row_blocks(std::int64_t together) {
  Cone cone;
  const std::int64_t columns = graph_.type(layout_.stores[0].value).shape.back();
  for (const Leaf& store : layout_.stores) gather_cone(store.value, columns, cone);
  const Value v = cone.products[0], x = graph_.op(v).operands[0];
  const int leaf = layout_.load_of.at({v, 1});
  const std::int64_t K = graph_.type(x).shape.back(), width = (K + kBlock - 1) / kBlock * kBlock;
  const std::int64_t at_once = together * kBlock;
  const std::int64_t bytes = size_bytes(graph_.type(x).dtype);
  const bool in_parts = width / kBlock * kPiece * bytes > kPieceBytes;
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
      const isa::View sums =
          in_parts ? add_parts(v, all, together, column, n, kPartBytes / (kPiece * bytes)) : isa::View();
      if (!in_parts) scopes_.back().pieces[leaf] = load_matrix(leaf, column, n);
      k_.loop(together, [&](Index j) {
        start_ = first + j * kBlock;
        columns_ = Columns{columns, n, column};
        scopes_.emplace_back();
        scopes_.back().turned[x] = rows_of(j);
        if (in_parts)
          scopes_.back().values[v] = {sums, j * kPiece, {0, 1}, Strided::contiguous(free_of(v).dims).dims, kBlock};
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
