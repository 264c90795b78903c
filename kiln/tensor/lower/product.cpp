// Products of matrices: rows of x become columns that are summed over partitions, blocks of y come from HBM.
#include <algorithm>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/lower/turn.h"
#include "kiln/tensor/passes/long_sums.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kColumns = 512;  // of one bank of PSUM, and of a moving operand

constexpr std::int64_t kTurnedTogether = 16;  // rows that a DMA turns

constexpr std::int64_t kPieceOfSum = 8192;  // of one that is too long for rows to be turned at once
constexpr std::int64_t kFewPieces = 4;      // of a matrix: the first one is waited for

// Whether DMAs can turn so many columns of so many elements: every block begins at a multiple of 32 bytes.
bool fits_turned(std::int64_t depth, std::int64_t columns) {
  return columns % kTurnedTogether == 0 || (depth <= kBlock && columns > kTurnedTogether);
}

std::int64_t blocks_of(std::int64_t n) { return (n + kBlock - 1) / kBlock; }

// Calls body(p, columns) for each piece of 512 columns: a loop over the whole ones, then what remains.
void over_pieces(isa::Kernel& k, std::int64_t N, const std::function<void(Index, std::int64_t)>& body) {
  const std::int64_t whole = N / kColumns;
  if (whole == 1)
    body(0, kColumns);
  else if (whole > 1)
    k.loop(whole, [&](Index p) { body(p, kColumns); });
  if (N % kColumns) body(whole, N % kColumns);
}

}  // namespace

Turner RegionEmitter::turner() {
  return {k_, arch_, [this] { return evacuator(); }, options_.turned_by_dma};
}

// Columns that lie in HBM as rows of K elements, one `stride` apart, turned by the DMA: dst is (K in blocks, columns).
void RegionEmitter::load_turned(const Tile& dst, const View& hbm, const Index& at, std::int64_t K, std::int64_t stride,
                                std::int64_t columns) {
  const std::int64_t whole = K / kBlock, row = dst.storage.dim(1), moved = columns / kTurnedTogether * kTurnedTogether;
  if (whole && moved)
    k_.dma_transpose({.dst = dst.storage.ap({{row, kBlock}, {columns, whole}, {1, moved}}, dst.offset),
                      .src = hbm.ap({{stride, moved}, {kBlock, whole}, {1, kBlock}}, at)});
  const std::int64_t rest = K % kBlock;
  if (rest && moved)
    k_.dma_transpose({.dst = dst.storage.ap({{row, rest}, {1, moved}}, dst.offset + whole * columns),
                      .src = hbm.ap({{stride, moved}, {1, rest}}, at + whole * kBlock)});
  if (columns == moved) return;
  Tile last = dst;
  last.offset += moved;
  turner().from_hbm(last, hbm, at + moved * stride, K, stride, columns - moved, columns);
}

Engine RegionEmitter::evacuator() {
  using Evacuate = RegionOptions::Evacuate;
  if (!arch_.features.scalar_tensor_ops || options_.evacuate == Evacuate::vector) return Engine::unknown;
  if (options_.evacuate == Evacuate::scalar) return Engine::scalar;
  return ++evacuations_ % 2 == 0 ? Engine::scalar : Engine::unknown;
}

// The rows of x as columns: (K on partitions, blocks of K, rows).
Tile RegionEmitter::turned_rows(Value v) {
  const Op& op = graph_.op(v);
  for (const Scope& s : scopes_) {  // they serve all products with them, and all columns
    const auto it = s.turned.find(op.operands[0]);
    if (it != s.turned.end()) return it->second;
  }
  if (spread_of(op.operands[0]) && graph_.type(op.operands[0]).size() > 1)
    return scopes_.back().turned[op.operands[0]] = columns_of(op.operands[0], value(op.operands[0]));
  const auto leaf = layout_.load_of.find({v, 0});
  if (const auto s = leaf == layout_.load_of.end() ? std::nullopt : layout_.spread_of_load(leaf->second)) {
    auto& loaded = scopes_.back().leaves;
    if (!loaded.contains(leaf->second)) loaded[leaf->second] = load_spread(leaf->second, *s);
    return scopes_.back().turned[op.operands[0]] = columns_of(op.operands[0], loaded.at(leaf->second));
  }
  if (const KeptShape* blocks = kept_as_columns(v))
    return scopes_.back().turned[op.operands[0]] = columns_of_blocks(v, *blocks);
  if (const auto columns = kept_columns(v)) return scopes_.back().turned[op.operands[0]] = *columns;
  const DType t = graph_.type(op.operands[0]).dtype;
  const Depth depth = depth_of(v);
  if (depth.follows && can_spread(op.operands[0], graph_.type(op.operands[0]).shape.back()))
    return scopes_.back().turned[op.operands[0]] = spread_row(op.operands[0], depth);
  const Tile out = new_tile(k_, Memory::sbuf, depth.rows, {1, {depth.blocks * rows_}}, t);
  turn_rows(v, out);
  return scopes_.back().turned[op.operands[0]] = out;
}

// How many rows of the second operand of v, which is loaded whole, follow each other on a partition; 0: they do not.
// Short rows move in longer runs then, and a row of x that lies in HBM comes as columns.
std::int64_t RegionEmitter::rows_that_follow(Value v) const {
  constexpr std::int64_t kLongRun = 2048;  // bytes
  if (attention_ || layout_.partitions > arch_.partitions || layout_.packed > 1) return 0;
  const Leaf& y = layout_.loads[layout_.load_of.at({v, 1})];
  const std::int64_t K = y.free[0].count, N = y.free[1].count, size = size_bytes(graph_.type(y.value).dtype);
  const bool is_long = K > kPieceOfSum && !splat_of(graph_, graph_.op(v).operands[0]);  // ones need no turning
  if (K <= kBlock || is_long || kept_as_columns(v) || kept(y) || y.free[1].stride != 1 || y.free[0].stride != N)
    return 0;
  if (blocks_of(K) * N * size > options_.hoisted_bytes) return 0;
  if (N * size >= kLongRun && K % kBlock == 0 && !comes_as_columns(v)) return 0;
  std::int64_t rows = kBlock;
  while (K % rows != 0) --rows;
  if (2 * rows < kBlock || turns_in_dma(v, layout_.partitions) || turns_in_pieces(v)) return 0;
  const auto x = layout_.load_of.find({v, 0});
  const bool in_parts = x != layout_.load_of.end() && loads_in_parts(layout_.loads[x->second]) && !comes_as_columns(v);
  return in_parts ? 0 : K / rows;  // a part of x has all elements of some blocks
}

// All products with the same x see it in the same way.
RegionEmitter::Depth RegionEmitter::depth_of(Value v) const {
  const auto known = depths_.find(v);
  return known == depths_.end() ? find_depth(v) : known->second;
}

RegionEmitter::Depth RegionEmitter::find_depth(Value v) const {
  if (const auto depth = depth_of_columns(v)) return *depth;
  const Value x = graph_.op(v).operands[0];
  const std::int64_t K = graph_.type(x).shape.back(), follow = rows_that_follow(v);
  for (Value u : fusion_.regions[region_].ops) {
    if (is_product(graph_.op(u).code) && graph_.op(u).operands[0] == x && rows_that_follow(u) != follow)
      return {std::min(K, kBlock), blocks_of(K), false};
  }
  if (follow == 0) return {std::min(K, kBlock), blocks_of(K), false};
  return {K / follow, follow, true};
}

const Tile& RegionEmitter::held_matrix(int leaf) const {
  for (const Scope& s : scopes_) {
    const auto it = s.matrices.find(leaf);
    if (it != s.matrices.end()) return it->second;
  }
  KILN_ASSERT(false);
}

// Whether turn_rows moves rows of x from HBM as columns.
bool RegionEmitter::turns_in_dma(Value v, std::int64_t rows) const {
  const auto found = layout_.load_of.find({v, 0});
  if (found == layout_.load_of.end() || kept(layout_.loads[found->second])) return false;
  const Leaf& leaf = layout_.loads[found->second];
  if (leaf.partition == 1 && leaf.free.back().stride != 1) return true;
  const Type& t = graph_.type(graph_.op(v).operands[0]);
  std::vector<Dims> one{leaf.free};
  join_together(one);
  return options_.loads_turned && size_bytes(t.dtype) == 2 && !is_hoisted(leaf) && one[0].size() == 1 &&
         one[0][0].stride == 1 && one[0][0].count == t.shape.back() && leaf.partition > 0 &&
         fits_turned(t.shape.back(), rows);
}

void RegionEmitter::turn_rows(Value v, const Tile& out) {
  const Op& op = graph_.op(v);
  const std::int64_t K = graph_.type(op.operands[0]).shape.back();
  const DType t = graph_.type(op.operands[0]).dtype;
  if (const auto number = splat_of(graph_, op.operands[0])) {
    k_.memset(
        {.dst = out.storage.ap({{out.storage.dim(1), out.rows}, {1, out.count()}}, out.offset), .value = *number});
    return;
  }
  const auto leaf = layout_.load_of.find({v, 0});
  if (leaf != layout_.load_of.end() && !kept(layout_.loads[leaf->second])) {
    const Leaf& l = layout_.loads[leaf->second];
    if (l.partition == 1 && l.free.back().stride != 1) {  // it lies in HBM as it is needed
      const View& hbm = storage_.of.at(l.base);
      const std::int64_t whole = K / kBlock, stride = l.free.back().stride;
      const std::int64_t row = out.storage.dim(1);
      if (whole)
        k_.dma_copy({.dst = out.storage.ap({{row, kBlock}, {rows_, whole}, {1, rows_}}, out.offset),
                     .src = hbm.ap({{stride, kBlock}, {stride * kBlock, whole}, {1, rows_}}, place(l))});
      if (K % kBlock)
        k_.dma_copy({.dst = out.storage.ap({{row, K % kBlock}, {1, rows_}}, out.offset + whole * rows_),
                     .src = hbm.ap({{stride, K % kBlock}, {1, rows_}}, place(l) + whole * kBlock * stride)});
      return;
    }
  }
  if (turns_in_dma(v, rows_)) {
    const Leaf& l = layout_.loads[leaf->second];
    return load_turned(out, storage_.of.at(l.base), place(l), K, l.partition, rows_);
  }
  if (turns_in_pieces(v)) return turn_pieces(v, out);
  const Depth depth = depth_of(v);
  if (depth.follows && comes_as_columns(v)) {
    const Leaf& l = layout_.loads[leaf->second];
    k_.dma_copy({.dst = out.storage.ap({{out.storage.dim(1), depth.rows}, {1, depth.blocks}}, out.offset),
                 .src = storage_.of.at(l.base).ap({{depth.blocks, depth.rows}, {1, depth.blocks}}, place(l))});
    return;
  }
  if (leaf != layout_.load_of.end() && loads_in_parts(layout_.loads[leaf->second])) {
    const Leaf& l = layout_.loads[leaf->second];
    const View& hbm = storage_.of.at(l.base);
    over_pieces(k_, K, [&](Index p, std::int64_t n) {
      const Tile part = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, t);
      k_.dma_copy(
          {.dst = view_of(part, {{1, n}}), .src = hbm.ap({{l.partition, rows_}, {1, n}}, place(l) + p * kColumns)});
      Tile to = out;
      to.offset += p * (kColumns / kBlock * rows_);
      turner().tile(to, part, n);
    });
    return;
  }
  Tile x = operand(v, 0);
  const Free free{1, {K}};
  const Dims flat{spread_dims(x, {1, Strided{0, x.dims}.shape()}).back()};
  x.dims = flat;
  if (x.in_psum() || x.dtype() != t) {
    const Tile copied = new_tile(k_, Memory::sbuf, rows_, free, t);
    copy(copied, x, free);
    x = copied;
  }
  if (depth.follows)
    turner().strided(out, x, depth.blocks);
  else
    turner().tile(out, x, K);
}

// One row that lies in HBM element after element.
bool RegionEmitter::is_row_of_hbm(const Leaf& leaf) const {
  std::vector<Dims> one{leaf.free};
  join_together(one);
  return layout_.partitions == 1 && !kept(leaf) && !is_hoisted(leaf) && one[0].size() == 1 && one[0][0].stride == 1;
}

// One row that comes as columns without being turned: it is for products alone, or made of what lies in HBM.
bool RegionEmitter::comes_as_columns(Value v) const {
  const Value x = graph_.op(v).operands[0];
  const auto found = layout_.load_of.find({v, 0});
  if (found == layout_.load_of.end()) return can_spread(x, graph_.type(x).shape.back());
  return is_row_of_hbm(layout_.loads[found->second]) &&
         std::all_of(layout_.load_of.begin(), layout_.load_of.end(), [&](const auto& read) {
           return read.second != found->second ||
                  (is_product(graph_.op(read.first.first).code) && read.first.second == 0);
         });
}

// Whether a row of K elements is made, element by element, of rows that lie in HBM.
bool RegionEmitter::can_spread(Value x, std::int64_t K) const {
  const Op& op = graph_.op(x);
  if (fusion_.region_of[x] != region_ || layout_.partitions != 1 || layout_.packed != 1 || !layout_.loops.empty())
    return false;
  if (!layout_.spread.empty()) return false;  // what can be is, already
  const auto is_row = [&](const Type& t) { return t.rank() > 0 && t.size() == K && t.shape.back() == K; };
  if (!is_row(op.type) || !is_float(op.type.dtype)) return false;
  if (!is_elementwise(op.code) && op.code != OpCode::cast) return false;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (splat_of(graph_, op.operands[i])) continue;
    if (!is_row(graph_.type(op.operands[i]))) return false;
    const auto leaf = layout_.load_of.find({x, static_cast<int>(i)});
    const bool fine =
        leaf == layout_.load_of.end() ? can_spread(op.operands[i], K) : is_row_of_hbm(layout_.loads[leaf->second]);
    if (!fine) return false;
  }
  return true;
}

// Whether anybody reads v as it is, and not only as columns.
bool RegionEmitter::is_wanted_as_row(Value x) const {
  if (uses_[x] != static_cast<int>(users_[x].size())) return true;  // it is stored
  return std::any_of(users_[x].begin(), users_[x].end(), [&](Value user) {
    const std::int64_t K = graph_.type(x).size();
    if (!can_spread(x, K)) return true;
    return is_product(graph_.op(user).code) ? !depth_of(user).follows : is_wanted_as_row(user);
  });
}

// Such a row, as columns: every partition computes those that follow each other on it.
Tile RegionEmitter::spread_row(Value x, const Depth& depth) {
  std::vector<Scope> others(1);
  std::swap(scopes_, others);
  const std::int64_t rows = rows_;
  columns_ = Columns{depth.rows * depth.blocks, depth.blocks, 0, true};
  rows_ = depth.rows;
  Tile out = value(x);
  out.dims = {{1, depth.blocks}};
  if (const DType t = graph_.type(x).dtype; out.dtype() != t) {
    const Tile copied = new_tile(k_, Memory::sbuf, rows_, {1, {depth.blocks}}, t);
    copy(copied, out, {1, {depth.blocks}});
    out = copied;
  }
  rows_ = rows;
  columns_.reset();
  std::swap(scopes_, others);
  return out;
}

// Rows that come from HBM for a product alone: the first columns are turned while the others are loaded.
bool RegionEmitter::loads_in_parts(const Leaf& leaf) const {
  if (load_blocks() == 0 || kept(leaf) || is_hoisted(leaf) || is_turned(leaf) || leaf.free.empty()) return false;
  if (first_rows_.contains(static_cast<int>(&leaf - layout_.loads.data()))) return false;
  std::vector<Dims> one{leaf.free};
  join_together(one);
  if (one[0].size() != 1 || one[0][0].stride != 1 || one[0][0].count < 2 * kColumns) return false;
  int readers = 0;
  for (const auto& [user, i] : layout_.load_of) readers += &layout_.loads[i] == &leaf;
  return readers == 1 && layout_.partitions <= arch_.partitions && !graph_.type(leaf.value).shape.empty();
}

// Whether the rows of x come from products themselves, and nobody else wants them.
bool RegionEmitter::turns_in_pieces(Value v) const {
  const Value x = graph_.op(v).operands[0];
  const std::int64_t K = graph_.type(x).shape.back();
  if (fusion_.region_of[x] != region_ || layout_.packed != 1 || columns_ || find(x) || K < 2 * kColumns) return false;
  if (std::any_of(users_[x].begin(), users_[x].end(), [&](Value u) { return u != v; }) || uses_[x] != 1) return false;
  Cone cone;
  return gather_cone(x, K, cone) && !cone.products.empty() && cone.running.empty() && is_for_this_alone(x);
}

// Whether what x is made of, back to products, is read for x alone: else it would be computed twice.
bool RegionEmitter::is_for_this_alone(Value x) const {
  std::set<Value> seen;
  std::map<Value, int> reads;
  std::vector<Value> left{x};
  while (!left.empty()) {
    const Value v = left.back();
    left.pop_back();
    if (!seen.insert(v).second || is_product(graph_.op(v).code)) continue;
    for (Value y : graph_.op(v).operands) {
      ++reads[y];
      if (fusion_.region_of[y] == region_ && product(free_of(y).dims) > 1) left.push_back(y);
    }
  }
  return std::all_of(seen.begin(), seen.end(), [&](Value v) { return v == x || reads[v] == uses_[v]; });
}

// Some columns of x at a time: the next ones are computed while these are finished and turned.
void RegionEmitter::turn_pieces(Value v, const Tile& out) {
  const Value x = graph_.op(v).operands[0];
  const std::int64_t K = graph_.type(x).shape.back();
  const DType t = graph_.type(x).dtype;
  Cone cone;
  gather_cone(x, K, cone);
  prepare(cone);
  over_pieces(k_, K, [&](Index p, std::int64_t n) {
    columns_ = Columns{K, n, p * kColumns};
    scopes_.emplace_back();
    Tile piece = value(x);
    piece.dims = {spread_dims(piece, {1, Strided{0, piece.dims}.shape()}).back()};
    if (piece.in_psum() || piece.dtype() != t) {
      const Tile copied = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, t);
      copy(copied, piece, {1, {n}});
      piece = copied;
    }
    Tile part = out;
    part.offset += p * (kColumns / kBlock * rows_);
    turner().tile(part, piece, n);
    scopes_.pop_back();
    columns_.reset();
  });
}

// How the products that read a matrix see it.
RegionEmitter::Depth RegionEmitter::depth_of_matrix(int index) const {
  Depth out;
  for (const auto& [user, i] : layout_.load_of) {
    if (i == index) out = depth_of(user.first);
  }
  return out;
}

// How many blocks of a matrix a DMA loads. One row waits for nothing else: pieces are no shorter than the start of a
// DMA takes.
std::int64_t RegionEmitter::blocks_of_load(int index, std::int64_t rows, std::int64_t blocks) const {
  constexpr std::int64_t kShortest = 256 << 10;  // bytes
  if (load_blocks() == 0) return blocks;
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t bytes = rows * leaf.free[1].count * size_bytes(graph_.type(leaf.value).dtype);
  const std::int64_t least = layout_.spread.empty() ? 1 : (kShortest + bytes - 1) / bytes;
  return std::min(blocks, std::max(load_blocks(), least));
}

// All of y, with rows that follow each other on each partition.
Tile RegionEmitter::load_following(int index, const Depth& depth) {
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t N = leaf.free[1].count, run = depth.blocks * N, sk = leaf.free[0].stride;
  const std::int64_t together = blocks_of_load(index, depth.rows, depth.blocks);
  const Tile out = new_tile(k_, Memory::sbuf, depth.rows, {1, {run}}, graph_.type(leaf.value).dtype);
  Index at = storage_.begin(leaf.base) + leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  k_.tiles(depth.blocks, together, [&](Index b, std::int64_t n) {
    const isa::View& hbm = storage_.of.at(leaf.base);
    if (sk == N)
      k_.dma_copy(
          {.dst = view_of(out, {{1, n * N}}, b * N), .src = hbm.ap({{run, depth.rows}, {1, n * N}}, at + b * N)});
    else
      k_.dma_copy({.dst = view_of(out, {{N, n}, {1, N}}, b * N),
                   .src = hbm.ap({{depth.blocks * sk, depth.rows}, {sk, n}, {1, N}}, at + b * sk)});
  });
  return out;
}

// Columns of y: (K on partitions, blocks of K, columns).
Tile RegionEmitter::load_matrix(int index, Index column, std::int64_t columns) {
  if (const Depth depth = depth_of_matrix(index); depth.follows) return load_following(index, depth);
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t K = leaf.free[0].count, sk = leaf.free[0].stride, sn = leaf.free[1].stride;
  const DType t = graph_.type(leaf.value).dtype;
  if (const KeptShape* in_blocks = kept_blocks(leaf.base)) return matrix_of_blocks(leaf, *in_blocks);
  if (const Tile* row = kept(leaf)) {
    if (sk == row->count() && K == row->rows && K <= kBlock)
      return {row->storage, place_in_row(leaf) + column * sn, {0, 1}, {{sn, columns}}, K};
    const Tile out = new_tile(k_, Memory::sbuf, std::min(K, kBlock), {1, {blocks_of(K) * columns}}, t);
    const Tile rows{row->storage, place_in_row(leaf), {0, 1}, {{sk, K}}, row->rows};
    turner().tile(out, rows, K);
    return out;
  }
  const View& hbm = storage_.of.at(leaf.base);
  Tile out = new_tile(k_, Memory::sbuf, std::min(K, kBlock), {1, {blocks_of(K) * columns}}, t);
  Index at = storage_.begin(leaf.base) + leaf.offset + column * sn;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  if (sk == 1 && sn != 1 && columns > 1) {  // it lies the other way round: rows of columns, turned on the tensor engine
    if (options_.loads_turned && size_bytes(t) == 2 && fits_turned(K, columns))
      load_turned(out, hbm, at, K, sn, columns);
    else
      turner().from_hbm(out, hbm, at, K, sn, columns);
    return out;
  }
  const std::optional<std::int64_t> before = load_blocks_;
  if (leaf.free[1].count > kFewPieces * kColumns) load_blocks_ = 0;  // others are under way anyway
  load_block(out, hbm, at, K, sk, columns, sn);
  load_blocks_ = before;
  return out;
}

// Sums that are too long for a row of x to lie in SBUF: pieces of x and y at a time, all added up in PSUM.
Tile RegionEmitter::multiply_pieces(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const Leaf &x = layout_.loads[layout_.load_of.at({v, 0})], &y = layout_.loads[layout_.load_of.at({v, 1})];
  const std::int64_t K = y.free[0].count, N = op.type.shape.back(), sx = x.free.back().stride;
  const DType t = graph_.type(x.value).dtype;
  const View &hbm_x = storage_.of.at(x.base), &hbm_y = storage_.of.at(y.base);
  Index at_y = storage_.begin(y.base) + y.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at_y += at_[i] * y.loops[i];
  const Tile dst = target(v, into);
  k_.tiles(N, kColumns, [&](Index n0, std::int64_t n) {
    const View sum = k_.psum({rows_, n}, DType::float32);
    k_.tiles(K, kPieceOfSum, [&](Index k0, std::int64_t k) {
      const Tile turned = new_tile(k_, Memory::sbuf, std::min(k, kBlock), {1, {blocks_of(k) * rows_}}, t);
      if (x.partition == 1 && sx != 1) {  // it lies in HBM as it is needed
        load_block(turned, hbm_x, place(x) + k0 * sx, k, sx, rows_, 1);
      } else {
        const Tile rows = new_tile(k_, Memory::sbuf, rows_, {1, {k}}, t);
        k_.dma_copy(
            {.dst = view_of(rows, {{1, k}}), .src = hbm_x.ap({{x.partition, rows_}, {sx, k}}, place(x) + k0 * sx)});
        turner().tile(turned, rows, k);
      }
      const Tile part = new_tile(k_, Memory::sbuf, std::min(k, kBlock), {1, {blocks_of(k) * n}}, t);
      load_block(part, hbm_y, at_y + k0 * y.free[0].stride + n0 * y.free[1].stride, k, y.free[0].stride, n,
                 y.free[1].stride);
      over_blocks(k_, k, [&](Index b, std::int64_t m) {
        k_.nc_matmul(
            {.dst = sum, .stationary = block(turned, b, 0, m, rows_, rows_), .moving = block(part, b, 0, m, n, n)});
      });
    });
    const std::int64_t stride = dst.dims.back().stride;
    k_.tensor_copy({.dst = view_of(dst, {{stride, n}}, n0 * stride), .src = sum});
  });
  return dst;
}

// How many blocks of K of a matrix to load at a time when so many columns of all would leave no room for the next ones;
// 0: all of them.
std::int64_t RegionEmitter::blocks_at_once(int index, std::int64_t columns) const {
  constexpr std::int64_t kMostBytes = 32768, kBytes = 32768;  // of a partition
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t K = leaf.free[0].count, bytes = columns * size_bytes(graph_.type(leaf.value).dtype);
  if (kept(leaf) || leaf.free[1].stride != 1 || K % kBlock || blocks_of(K) * bytes <= kMostBytes) return 0;
  return std::max<std::int64_t>(1, kBytes / bytes);
}

// One sum of products with columns of y that are loaded some blocks of K at a time.
void RegionEmitter::add_in_parts(const View& sum, const Tile& x, int index, Index column, std::int64_t columns) {
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t K = leaf.free[0].count, sk = leaf.free[0].stride, sn = leaf.free[1].stride;
  Index at = storage_.begin(leaf.base) + leaf.offset + column * sn;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  k_.tiles(K / kBlock, blocks_at_once(index, columns), [&](Index first, std::int64_t count) {
    const Tile part = new_tile(k_, Memory::sbuf, kBlock, {1, {count * columns}}, graph_.type(leaf.value).dtype);
    load_block(part, storage_.of.at(leaf.base), at + first * (kBlock * sk), count * kBlock, sk, columns, sn);
    k_.loop(count, [&](Index b) {
      k_.nc_matmul({.dst = sum,
                    .stationary = block(x, first + b, 0, kBlock, rows_, width_of_turned(x)),
                    .moving = block(part, b, 0, kBlock, columns, columns)});
    });
  });
}

// (k on partitions, blocks of k, columns) from HBM.
void RegionEmitter::load_block(const Tile& dst, const View& hbm, Index at, std::int64_t k, std::int64_t k_stride,
                               std::int64_t columns, std::int64_t stride) {
  const std::int64_t whole = k / kBlock, row = dst.storage.dim(1);
  const bool parts = load_blocks() > 0 && whole > load_blocks();
  const std::int64_t together = parts ? load_blocks() : whole;
  if (whole)
    k_.tiles(whole, together, [&](Index b, std::int64_t n) {
      k_.dma_copy({.dst = dst.storage.ap({{row, kBlock}, {columns, n}, {1, columns}}, b * columns),
                   .src = hbm.ap({{k_stride, kBlock}, {k_stride * kBlock, n}, {stride, columns}},
                                 at + b * (k_stride * kBlock))});
    });
  if (k % kBlock)
    k_.dma_copy({.dst = dst.storage.ap({{row, k % kBlock}, {1, columns}}, whole * columns),
                 .src = hbm.ap({{k_stride, k % kBlock}, {stride, columns}}, at + whole * kBlock * k_stride)});
}

Tile RegionEmitter::multiply(Value v, const Tile* into) {
  if (layout_.packed > 1) return multiply_packed(v, into);
  const Op& op = graph_.op(v);
  const Type& first_type = graph_.type(op.operands[0]);
  if (first_type.shape.back() > longest_sum(first_type.dtype) && layout_.load_of.contains({v, 0}) && !columns_ &&
      !kept(layout_.loads[layout_.load_of.at({v, 0})]) && !kept(layout_.loads[layout_.load_of.at({v, 1})]))
    return multiply_pieces(v, into);
  const std::int64_t K = graph_.type(op.operands[0]).shape.back();
  const std::int64_t N = columns_ && op.type.shape.back() == columns_->extent ? columns_->size : op.type.shape.back();
  const Index first = N != op.type.shape.back() ? columns_->start : Index(0);
  const int leaf = layout_.load_of.at({v, 1});
  const Depth depth = depth_of(v);
  const Tile x = turned_rows(v);
  const Tile *whole = nullptr, *piece = nullptr;  // all of y, or just these columns
  for (const Scope& s : scopes_) {
    const auto it = s.matrices.find(leaf);
    if (it != s.matrices.end()) whole = &it->second;
    const auto part = s.pieces.find(leaf);
    if (part != s.pieces.end()) piece = &part->second;
  }
  const std::int64_t width = op.type.shape.back();
  const bool stays = N <= options_.psum_columns && !into;
  Free free = free_of(v);
  Tile dst = stays ? new_tile(k_, Memory::psum, rows_, free, DType::float32) : target(v, into);
  // Whoever empties PSUM can take the largest of each row along.
  const auto largest = stays || columns_ ? std::nullopt : row_maximum_of(v);
  const std::int64_t pieces = (N + kColumns - 1) / kColumns;
  const Tile maxima = largest ? new_tile(k_, Memory::sbuf, rows_, {1, {pieces}}, DType::float32) : Tile{};
  over_pieces(k_, N, [&](Index p, std::int64_t n) {
    const Index n0 = p * kColumns;
    const bool in_parts = !piece && !whole && !depth.follows && blocks_at_once(leaf, n) > 0;
    const Tile y = piece ? *piece : whole ? *whole : in_parts ? Tile{} : load_matrix(leaf, first + n0, n);
    const std::int64_t y_width = y.dims.size() == 2 ? y.dims[0].stride : piece ? N : whole ? width : n;
    const Index y_at = piece ? n0 : whole ? first + n0 : Index(0);
    const View sum = stays ? view_of(dst, {{1, n}}, n0) : k_.psum({rows_, n}, DType::float32);
    const auto add = [&](Index b, std::int64_t k) {
      k_.nc_matmul({.dst = sum,
                    .stationary = block(x, b, 0, k, rows_, width_of_turned(x)),
                    .moving = block(y, b, y_at, k, n, y_width)});
    };
    if (in_parts)
      add_in_parts(sum, x, leaf, first + n0, n);
    else if (depth.follows)
      k_.loop(depth.blocks, [&](Index b) { add(b, depth.rows); });
    else
      over_blocks(k_, K, add);
    if (stays) return;
    const std::int64_t stride = dst.dims.back().stride;
    const View out = view_of(dst, {{stride, n}}, n0 * stride);
    if (!largest) {
      k_.tensor_copy({.dst = out, .src = sum, .engine = evacuator()});
      return;
    }
    k_.tensor_scalar_reduce({.dst = out,
                             .data = sum,
                             .op0 = AluOp::multiply,
                             .operand0 = 1.0,
                             .reduce_op = AluOp::maximum,
                             .reduce_res = view_of(maxima, {{1, 1}}, p)});
  });
  if (largest) {
    const Tile m = target(*largest, nullptr);
    k_.tensor_reduce({.dst = column_of(m), .op = AluOp::maximum, .data = view_of(maxima, {{1, pieces}}), .axis = {1}});
    scopes_.back().values[*largest] = m;
  }
  return dst;
}

// Rows of a table by index: an indexed load.
Tile RegionEmitter::gather(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const Source table = source_of(graph_, fusion_, op.operands[0]);
  const Shape& shape = graph_.type(op.operands[0]).shape;
  const std::int64_t row = product(shape, 1, shape.size());
  if (!table.access.is_contiguous() || layout_.packed != 1) not_yet(v, "gather_rows of a view");
  const Tile at = in_dtype(operand(v, 1), {1, Shape(operand(v, 1).dims.size(), 1)}, DType::int32);
  const Tile dst = new_tile(k_, Memory::sbuf, rows_, free_of(v), graph_.type(v).dtype);
  const View& hbm = storage_.of.at(table.base);
  k_.dma_copy({.dst = view_of(dst, {{1, row}}),
               .src = hbm.ap({{row, rows_}, {1, row}}, table.access.offset).vector_offset(column_of(at), row)});
  if (!into) return dst;
  copy(*into, dst, free_of(v));
  return *into;
}

}  // namespace kiln::tensor
