// Products whose second operand does not fit SBUF: several blocks of rows meet each piece of it, so that it is read
// once for all of them.
#include <algorithm>
#include <utility>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;

namespace {

constexpr std::int64_t kPiece = 512;             // columns of the second operand at a time
constexpr std::int64_t kTurnedBytes = 96 << 10;  // of a partition, for the rows of all blocks
constexpr std::int64_t kLongBytes = 128 << 10;   // the same when pieces come in parts
constexpr std::int64_t kPieceBytes = 40 << 10;   // and for a piece
constexpr std::int64_t kPartBytes = 16 << 10;    // for a part of one
constexpr std::int64_t kFirstBlocks = 4;         // of 128 rows of the first piece, that a DMA loads
constexpr std::int64_t kMostSums = 4;            // banks of PSUM, so that the next ones begin before these are stored

}  // namespace

// The product of a region that is one product with elementwise ops around it.
struct RegionEmitter::Wide {
  Value v, x;
  int leaf;  // its second operand
  std::int64_t columns, depth, bytes;
  std::int64_t k_blocks() const { return (depth + kBlock - 1) / kBlock; }
  bool in_parts() const { return k_blocks() * kPiece * bytes > kPieceBytes; }  // of a piece, one after the other
};

std::optional<RegionEmitter::Wide> RegionEmitter::wide_product() const {
  if (layout_.packed != 1 || !layout_.loops.empty() || layout_.stores.empty()) return {};
  if (graph_.type(layout_.stores[0].value).shape.empty()) return {};
  const std::int64_t columns = graph_.type(layout_.stores[0].value).shape.back();
  Cone cone;
  for (const Leaf& store : layout_.stores) {
    const bool kept = storage_.residency.kept.contains(store.value) && !kept_blocks(store.value);
    if (kept || !goes_in_pieces(store.value, columns)) return {};
    gather_cone(store.value, columns, cone);
  }
  if (cone.products.size() != 1 || !cone.columns.empty()) return {};
  const Value v = cone.products[0], x = graph_.op(v).operands[0];
  const int leaf = layout_.load_of.at({v, 1});
  return Wide{v, x, leaf, columns, graph_.type(x).shape.back(), size_bytes(graph_.type(x).dtype)};
}

// How many blocks of rows are worth working on together; 1: it does not help.
std::int64_t RegionEmitter::blocks_together() const {
  const auto p = wide_product();
  if (!p || scopes_[0].matrices.contains(p->leaf)) return 1;
  const std::int64_t all = (layout_.partitions + kBlock - 1) / kBlock, row_bytes = p->k_blocks() * kBlock * p->bytes;
  if (p->in_parts() && layout_.loads[p->leaf].free[1].stride != 1) return 1;
  // Groups of one size: the last blocks would read the matrix for themselves.
  const std::int64_t most = p->in_parts() ? std::min(kMostSums, kLongBytes / row_bytes)
                                          : std::min<std::int64_t>(options_.row_blocks, kTurnedBytes / row_bytes);
  if (most < 2 || all < 2) return 1;
  const std::int64_t groups = (all + most - 1) / most;
  return (all + groups - 1) / groups;
}

// Blocks of 128 rows, and fewer rows behind them, that meet all pieces of the matrix.
struct RegionEmitter::RowGroup {
  Index first;  // row
  std::int64_t blocks = 0, rest = 0;
  std::int64_t count() const { return blocks + (rest > 0); }
};

// Sums of products over more than a piece holds: parts of it meet all blocks of rows while their sums stay in PSUM.
isa::View RegionEmitter::add_parts(Value v, const Tile& rows, const RowGroup& group, Index column, std::int64_t n,
                                   std::int64_t blocks) {
  const Leaf& leaf = layout_.loads[layout_.load_of.at({v, 1})];
  const std::int64_t K = leaf.free[0].count, sk = leaf.free[0].stride, sn = leaf.free[1].stride;
  const std::int64_t width = (K + kBlock - 1) / kBlock * kBlock;
  const isa::View& hbm = storage_.of.at(leaf.base);
  const std::int64_t apart = group.count() * kPiece;
  const isa::View sums = k_.psum({kBlock, apart}, DType::float32);
  const KeptShape* kept = kept_as_columns(v);
  start_ = group.first;
  const Tile all = kept ? columns_of_blocks(v, *kept) : rows;
  const auto at_block = [&](const Index& j, const Index& b, std::int64_t of) {
    return kept ? all.offset + j * kBlock + b * kept->pitch() : j * width + b * of;
  };
  const auto add = [&](Index first, std::int64_t k) {  // first: block of K
    const Tile part = new_tile(k_, Memory::sbuf, std::min(k, kBlock), {1, {(k + kBlock - 1) / kBlock * n}},
                               graph_.type(leaf.value).dtype);
    load_block(part, hbm, storage_.begin(leaf.base) + leaf.offset + column * sn + first * (kBlock * sk), k, sk, n, sn);
    const auto add_to = [&](const Index& j, std::int64_t of) {  // a block of so many rows
      over_blocks(k_, k, [&](Index b, std::int64_t m) {
        k_.nc_matmul({.dst = sums.ap({{apart, of}, {1, n}}, j * kPiece),
                      .stationary = all.storage.ap({{all.storage.dim(1), m}, {1, of}}, at_block(j, first + b, of)),
                      .moving = block(part, b, 0, m, n, n)});
      });
    };
    if (group.blocks == 1)
      add_to(0, kBlock);
    else
      k_.loop(group.blocks, [&](Index j) { add_to(j, kBlock); });
    if (group.rest) add_to(group.blocks, group.rest);
  };
  const std::int64_t whole = K / (blocks * kBlock);
  k_.loop(whole, [&](Index i) { add(i * blocks, blocks * kBlock); });
  if (const std::int64_t rest = K - whole * blocks * kBlock) add(whole * blocks, rest);
  return sums;
}

// Calls body(j, its rows as columns) for each block j of a group, from block `from` to block `to`.
void RegionEmitter::over_group(const RowGroup& group, const Tile& all, std::int64_t width, std::int64_t from,
                               std::int64_t to, const std::function<void(const Index&, const Tile&)>& body) {
  const auto one = [&](const Index& j, std::int64_t rows) {
    start_ = group.first + j * kBlock;
    rows_ = rows;
    scopes_.emplace_back();
    body(j, {all.storage, j * width, {0, 1}, {{1, width}}, all.rows});
    scopes_.pop_back();
  };
  const std::int64_t whole = std::min(to, group.blocks) - from;
  if (whole == 1)
    one(from, kBlock);
  else if (whole > 1)
    k_.loop(whole, [&](Index j) { one(j + from, kBlock); });
  if (group.rest && to > group.blocks) one(group.blocks, group.rest);
}

// The first rows are on their way, then the first piece of the matrix, then the other rows: products begin when there
// is something to multiply.
void RegionEmitter::meet_pieces(const Wide& p, const RowGroup& group) {
  const std::int64_t width = p.k_blocks() * kBlock, held = group.blocks * width + p.k_blocks() * group.rest;
  const std::int64_t even = piece_of(p.columns, kPiece, {&layout_.stores[0]});
  const std::int64_t piece = p.in_parts() ? kPiece : (even + 15) / 16 * 16;  // that DMAs can turn
  const std::int64_t first = std::min(piece, p.columns);
  const auto load = [&](const Index& column, std::int64_t n) {
    return p.in_parts() ? Tile{} : load_matrix(p.leaf, column, n);
  };
  const KeptShape* kept = kept_as_columns(p.v);  // where they are turned already
  const Tile all =
      kept ? Tile{} : new_tile(k_, Memory::sbuf, std::min(p.depth, kBlock), {1, {held}}, graph_.type(p.x).dtype);
  const auto turn = [&](const Index&, const Tile& rows) {
    if (!kept) turn_rows(p.v, rows);
  };
  const std::int64_t blocks = group.blocks + 1;  // with the rest
  const std::optional<std::int64_t> before = std::exchange(load_blocks_, kFirstBlocks);
  over_group(group, all, width, 0, 1, turn);
  const Tile first_piece = load(0, first);
  load_blocks_ = before;
  over_group(group, all, width, 1, blocks, turn);
  const auto meet = [&](const Index& column, std::int64_t n, const Tile& matrix) {
    scopes_.emplace_back();
    const isa::View sums =
        p.in_parts() ? add_parts(p.v, all, group, column, n, kPartBytes / (kPiece * p.bytes)) : isa::View();
    if (!p.in_parts()) scopes_.back().pieces[p.leaf] = matrix;
    over_group(group, all, width, 0, blocks, [&](const Index& j, const Tile& rows) {
      columns_ = Columns{p.columns, n, column};
      scopes_.back().turned[p.x] = kept ? columns_of_blocks(p.v, *kept) : rows;
      if (p.in_parts())
        scopes_.back().values[p.v] = {sums, j * kPiece, {0, 1}, Strided::contiguous(free_of(p.v).dims).dims, rows_};
      for (const Leaf& leaf : layout_.stores) store(leaf, value(leaf.value));
      columns_.reset();
    });
    scopes_.pop_back();
  };
  if (p.in_parts()) return k_.tiles(p.columns, piece, [&](Index at, std::int64_t n) { meet(at, n, {}); });
  meet(0, first, first_piece);
  k_.tiles(p.columns - first, piece, [&](Index at, std::int64_t n) { meet(first + at, n, load(first + at, n)); });
}

void RegionEmitter::over_row_blocks(std::int64_t together) {
  const Wide p = *wide_product();
  const std::int64_t at_once = together * kBlock, whole = layout_.partitions / at_once * at_once;
  k_.tiles(whole, at_once, [&](Index first, std::int64_t) { meet_pieces(p, {first, together, 0}); });
  const std::int64_t left = layout_.partitions - whole;
  if (left > kBlock) return meet_pieces(p, {whole, left / kBlock, left % kBlock});
  rows_ = kBlock;
  k_.tiles(left, arch_.partitions, [&](Index start, std::int64_t rows) { body(whole + start, rows); });
}

}  // namespace kiln::tensor
