// One row over many partitions (passes/spread_rows.h): how it is loaded, summed up, multiplied and stored.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kQuadrant = 32, kBank = 512;  // columns that the tensor engine computes apart; of a bank of PSUM

std::int64_t last_of(const Type& t) { return t.shape.empty() ? 1 : t.shape.back(); }

}  // namespace

const SpreadRow* RegionEmitter::spread_of(Value v) const {
  const auto it = layout_.spread.find(v);
  return it == layout_.spread.end() ? nullptr : &it->second;
}

// On how many partitions a value lies.
std::int64_t RegionEmitter::partitions_of(Value v) const {
  const SpreadRow* s = spread_of(v);
  return s ? s->partitions : 1;
}

// The dimensions of an operand in HBM for values that lie as `s`: partitions first.
Dims RegionEmitter::spread_pattern(const Dims& free, const SpreadRow& s) const {
  Dims out = free;
  const std::optional<std::int64_t> stride = take_partitions(out, s);
  KILN_ASSERT(stride.has_value());
  out.insert(out.begin(), {*stride, s.partitions});
  return out;
}

Tile RegionEmitter::load_spread(int index, const SpreadRow& s) {
  const Leaf& leaf = layout_.loads[index];
  Dims from = spread_pattern(leaf.free, s);
  Shape free;
  for (std::size_t d = 1; d < from.size(); ++d) free.push_back(from[d].stride == 0 ? 1 : from[d].count);
  if (const Tile* row = kept(leaf); row && graph_.type(leaf.value).size() > 1)
    return {row->storage, 0, {0, 1}, Strided::contiguous(free).dims, s.partitions};
  Tile tile = new_tile(k_, Memory::sbuf, s.partitions, {1, free}, graph_.type(leaf.value).dtype);
  std::vector<Dims> lists{tile.dims, {}};
  for (std::size_t d = 0; d < free.size(); ++d) lists[1].push_back({from[d + 1].stride, free[d]});
  join_together(lists);
  std::vector<isa::Dim> pattern{from[0]};
  pattern.insert(pattern.end(), lists[1].begin(), lists[1].end());
  const std::int64_t partition = from[0].stride;
  pattern[0] = {partition, s.partitions};
  k_.dma_copy({.dst = view_of(tile, lists[0]), .src = storage_.of.at(leaf.base).ap(pattern, place(leaf))});
  for (std::size_t d = 0; d < free.size(); ++d) {
    if (from[d + 1].stride == 0) tile.dims[d] = {0, from[d + 1].count};
  }
  return tile;
}

void RegionEmitter::store_spread(const Leaf& leaf, const Tile& given, const SpreadRow& s) {
  const Free free = free_of(leaf.value);
  if (const Tile* row = kept_result(leaf)) {
    const Tile there{row->storage, 0, {0, 1}, Strided::contiguous(free.dims).dims, s.partitions};
    if (given.storage.tensor() != there.storage.tensor()) copy(there, given, free);
    return;
  }
  const DType t = graph_.type(leaf.value).dtype;
  Tile tile = given;
  if (given.in_psum() || given.dtype() != t) {
    tile = new_tile(k_, Memory::sbuf, s.partitions, free, t);
    copy(tile, given, free);
  }
  const Dims to = spread_pattern(leaf.free, s);
  std::vector<Dims> lists{spread_dims(tile, free), Dims(to.begin() + 1, to.end())};
  lists[0].erase(lists[0].begin());
  join_together(lists);
  std::vector<isa::Dim> pattern{to[0]};
  pattern.insert(pattern.end(), lists[1].begin(), lists[1].end());
  const View& hbm = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
  k_.dma_copy({.dst = hbm.ap(pattern, place(leaf)), .src = view_of(tile, lists[0])});
}

// Whether a sum of v is one over partitions. Numbers, and what heads have one of, are on all of them already.
bool RegionEmitter::is_summed_across(Value v, const Type& sum) const {
  const SpreadRow* s = spread_of(v);
  const Type& t = graph_.type(v);
  return s && (s->turned ? last_of(t) > 1 : t.size() > 1 && sum.size() == 1);
}

// Sums over all partitions, on all of them: a product with ones.
Tile RegionEmitter::across(const Tile& part) {
  const std::int64_t n = part.count(), all = arch_.partitions;
  if (!ones_) {
    ones_ = k_.sbuf({all, all}, DType::float32);
    k_.memset({.dst = *ones_, .value = 1.0});
  }
  const Free free{1, Strided{0, part.dims}.shape()};
  Tile x = part;
  if (part.in_psum() || part.dtype() != DType::float32) {
    x = new_tile(k_, Memory::sbuf, part.rows, free, DType::float32);
    copy(x, part, free);
  }
  const Tile out = new_tile(k_, Memory::psum, all, free, DType::float32);
  std::vector<Dims> lists{x.dims};
  join_together(lists);
  k_.nc_matmul({.dst = view_of(out, {{1, n}}),
                .stationary = ones_->slice(0, 0, x.rows),
                .moving = view_of(x, lists[0]),
                .is_stationary_onezero = true});
  return out;
}

Tile RegionEmitter::sum_spread(Value v) {
  const std::int64_t rows = rows_;
  rows_ = partitions_of(graph_.op(v).operands[0]);
  operand(v, 0);
  if (const Tile* made = find(v)) {  // the instruction that made the operand summed it up
    rows_ = rows;
    return *made;
  }
  const Tile part = reduce(v, nullptr);
  rows_ = rows;
  return across(part);
}

// The first operand of a product where a result of another region lies as it is wanted, or is turned from heads.
std::optional<Tile> RegionEmitter::kept_columns(Value v) {
  const auto leaf = layout_.load_of.find({v, 0});
  if (leaf == layout_.load_of.end()) return {};
  const std::optional<KeptShape> shape = kept_shape(layout_.loads[leaf->second]);
  if (!shape || (shape->rows == 1 && layout_.partitions == 1)) return {};
  const Tile& row = storage_.kept.at(layout_.loads[leaf->second].base);
  const Tile columns{row.storage, 0, {0, 1}, {{1, shape->row}}, shape->rows};
  if (shape->turned || (layout_.partitions == 1 && !is_of_heads(*shape))) return columns;
  if (layout_.partitions != 1) return {};
  // Heads of 64 or 32 elements: several of them above each other.
  const std::int64_t D = shape->row, n = shape->rows, above = kBlock / D;
  const View turned = k_.psum({D, n}, row.dtype());
  const Tile out = new_tile(k_, Memory::sbuf, kBlock, {1, {n / above}}, row.dtype());
  k_.nc_transpose({.dst = turned, .data = row.storage});
  for (std::int64_t i = 0; i < above; ++i)
    k_.tensor_copy({.dst = out.storage.slice(0, i * D, D), .src = turned.ap({{n, D}, {above, n / above}}, i)});
  return out;
}

// How such an operand lies.
std::optional<RegionEmitter::Depth> RegionEmitter::depth_of_columns(Value v) const {
  const Value x = graph_.op(v).operands[0];
  const std::int64_t K = last_of(graph_.type(x));
  const auto depth = [&](const SpreadRow& s) {
    return Depth{s.partitions, K / s.partitions, !s.turned && s.partitions != K};
  };
  if (graph_.type(x).size() == 1) return {};
  if (const SpreadRow* s = spread_of(x)) return depth(*s);
  const auto leaf = layout_.load_of.find({v, 0});
  if (leaf == layout_.load_of.end()) return {};
  if (const auto s = layout_.spread_of_load(leaf->second)) return depth(*s);
  const std::optional<KeptShape> shape = kept_shape(layout_.loads[leaf->second]);
  if (!shape || layout_.partitions != 1 || shape->rows == 1) return {};
  if (is_of_heads(*shape)) return Depth{std::min(K, kBlock), (K + kBlock - 1) / kBlock, false};
  return depth({shape->rows, shape->turned});
}

// A spread row as columns that are summed over.
Tile RegionEmitter::columns_of(Value x, Tile t) {
  const DType wanted = graph_.type(x).dtype;
  const Free free{1, Strided{0, t.dims}.shape()};
  if (t.in_psum() || t.dtype() != wanted) {
    const Tile copied = new_tile(k_, Memory::sbuf, t.rows, free, wanted);
    copy(copied, t, free);
    t = copied;
  }
  std::vector<Dims> lists{t.dims};
  join_together(lists);
  t.dims = lists[0].empty() ? Dims{{1, 1}} : lists[0];
  KILN_ASSERT(t.dims.size() == 1);
  return t;
}

// Columns of a product that lie on many partitions: v is the product, or a slice of it.
Tile RegionEmitter::multiply_spread(Value v) {
  const SpreadRow s = *spread_of(v);
  const bool part = !is_product(graph_.op(v).code);
  const Value p = part ? graph_.op(v).operands[0] : v;
  const int leaf = layout_.load_of.at({p, 1});
  const std::int64_t outer = rows_, N = last_of(graph_.type(v));
  rows_ = 1;
  SpreadProduct m{.x = turned_rows(p),
                  .y = held_matrix(leaf),
                  .depth = depth_of(p),
                  .summed = last_of(graph_.type(graph_.op(p).operands[0])),
                  .width = last_of(graph_.type(p)),
                  .first = part ? graph_.op(v).ints("starts").back() : 0,
                  .partitions = s.partitions,
                  .columns = N / s.partitions,
                  .between = s.turned ? 1 : N / s.partitions,
                  .next = s.turned ? s.partitions : 1,
                  .dtype = graph_.type(v).dtype};
  rows_ = outer;
  const bool tiles = arch_.features.row_tile_32 && arch_.features.tensor_transpose_mode && m.columns % 2 == 0 &&
                     size_bytes(m.x.dtype()) == 2 && m.partitions % kQuadrant == 0;
  constexpr double kLoadNs = 115, kTileNs = 100, kTurnNs = 1300;
  const auto blocks = static_cast<double>(m.depth.blocks), columns = static_cast<double>(m.columns);
  const double together = static_cast<double>(std::max<std::int64_t>(1, kBank / m.partitions));
  const bool quicker = columns * blocks * kLoadNs > blocks * std::max(4.0, columns / together) * kTileNs + kTurnNs;
  Tile out = tiles && quicker ? multiply_in_tiles(m) : multiply_columns(m);
  out.dims = Strided::contiguous(free_of(v).dims).dims;
  return out;
}

void RegionEmitter::over_depth(const SpreadProduct& m, const std::function<void(Index, std::int64_t)>& body) {
  if (m.depth.follows)
    k_.loop(m.depth.blocks, [&](Index b) { body(b, m.depth.rows); });
  else
    over_blocks(k_, m.summed, body);
}

// The tensor engine holds blocks of the matrix: a column of the result for each.
Tile RegionEmitter::multiply_columns(const SpreadProduct& m) {
  const Tile out = new_tile(k_, Memory::psum, m.partitions, {1, {m.columns}}, DType::float32);
  over_depth(m, [&](Index b, std::int64_t k) {
    const auto one = [&](Index c) {
      k_.nc_matmul({.dst = view_of(out, {{1, 1}}, c),
                    .stationary = m.y.storage.ap({{m.y.storage.dim(1), k}, {m.between, m.partitions}},
                                                 m.y.offset + b * m.width + m.first + c * m.next),
                    .moving = block(m.x, b, 0, k, 1, 1)});
    };
    if (m.columns == 1)
      one(0);
    else
      k_.loop(m.columns, one);
  });
  return out;
}

// The tensor engine holds the row, once for every 32 of its columns, and four parts of the matrix pass side by side.
// What comes out lies on four times 32 partitions and is turned.
Tile RegionEmitter::multiply_in_tiles(const SpreadProduct& m) {
  const std::int64_t P = m.partitions, C = m.columns, T = C % 4 == 0 ? 4 : 2, J = C / T, R = kQuadrant * T;
  std::int64_t together = std::min(J, kBank / P);
  while (J % together) --together;
  const Tile out = new_tile(k_, Memory::sbuf, P, {1, {C}}, m.dtype);
  const std::int64_t n = together * P;
  const auto round = [&](Index r) {
    const View sum = k_.psum({R, n}, DType::float32), rows = k_.sbuf({R, n}, m.dtype);
    over_depth(m, [&](Index b, std::int64_t k) {
      for (std::int64_t t = 0; t < T; ++t)
        k_.nc_matmul({.dst = sum.slice(0, t * kQuadrant, kQuadrant),
                      .stationary = m.x.storage.ap({{m.x.storage.dim(1), k}, {0, kQuadrant}},
                                                   m.x.offset + b * m.x.dims[0].stride),
                      .moving = m.y.storage.ap({{m.y.storage.dim(1), k}, {m.next, together}, {m.between, P}},
                                               m.y.offset + b * m.width + m.first + (t * J + r * together) * m.next),
                      .tile_position = {0, t * kQuadrant},
                      .tile_size = {kBlock, kQuadrant}});
    });
    const std::int64_t half = n / 2;
    k_.tensor_copy({.dst = rows.slice(1, 0, half), .src = sum.slice(1, 0, half), .engine = Engine::scalar});
    k_.tensor_copy({.dst = rows.slice(1, half, n - half), .src = sum.slice(1, half, n - half)});
    const View turned = k_.psum({P, together * R}, m.dtype);
    const auto turn = [&](Index j) {
      k_.nc_transpose({.dst = turned.ap({{together * R, P}, {1, R}}, j * R), .data = rows.ap({{n, R}, {1, P}}, j * P)});
    };
    if (together == 1)
      turn(0);
    else
      k_.loop(together, turn);
    k_.tensor_copy({.dst = out.storage.ap({{C, P}, {J, T}, {1, together}}, r * together),
                    .src = turned.ap({{together * R, P}, {kQuadrant, T}, {R, together}})});
  };
  if (J == together)
    round(0);
  else
    k_.loop(J / together, round);
  return out;
}

// Matrices in the order in which they are needed; what is short comes while the first of them are on their way.
void RegionEmitter::emit_spread() {
  std::vector<const Leaf*> stores;
  for (const Leaf& leaf : layout_.stores) stores.push_back(&leaf);
  std::stable_sort(stores.begin(), stores.end(),
                   [&](const Leaf* a, const Leaf* b) { return waits_in_hbm(*a) > waits_in_hbm(*b); });
  std::vector<Value> products;
  std::set<Value> seen;
  const std::function<void(Value)> visit = [&](Value v) {
    if (fusion_.region_of[v] != region_ || !seen.insert(v).second) return;
    for (Value x : graph_.op(v).operands) visit(x);
    if (is_product(graph_.op(v).code)) products.push_back(v);
  };
  for (const Leaf* leaf : stores) visit(leaf->value);
  for (Value v : products) {
    if (!reads_products(graph_.op(v).operands[0])) turned_rows(v);
  }
  constexpr std::size_t kFirst = 2;
  std::size_t loaded = 0;
  for (Value v : products) {
    const auto load = layout_.load_of.find({v, 1});
    if (load == layout_.load_of.end()) continue;  // a matrix of this region, such as a number
    const int index = load->second;
    if (scopes_.back().matrices.contains(index)) continue;
    const Leaf& leaf = layout_.loads[index];
    if (const auto held = storage_.held.find({region_, index}); held != storage_.held.end()) {
      scopes_.back().matrices[index] = held->second;
      continue;
    }
    const std::int64_t bytes =
        (leaf.free[0].count + kBlock - 1) / kBlock * leaf.free[1].count * size_bytes(graph_.type(leaf.value).dtype);
    if (bytes > options_.hoisted_bytes) continue;
    if (loaded++ == kFirst) load_short_rows();
    scopes_.back().matrices[index] = load_matrix(index, 0, leaf.free[1].count);
  }
  if (loaded <= kFirst) load_short_rows();
  for (const Leaf* leaf : stores) {
    const Tile* row = kept_result(*leaf);
    const SpreadRow* s = spread_of(leaf->value);
    if (s && graph_.type(leaf->value).size() > 1 && row && !find(leaf->value) &&
        row->dtype() == graph_.type(leaf->value).dtype) {
      const Tile there{row->storage, 0, {0, 1}, Strided::contiguous(free_of(leaf->value).dims).dims, s->partitions};
      store(*leaf, value(leaf->value, &there));
    } else if (!s && row && !find(leaf->value) && row->dtype() == tile_dtype(leaf->value)) {
      const Tile there = place_of_kept(*leaf, *row);
      store(*leaf, value(leaf->value, &there));
    } else {
      Tile tile = value(leaf->value);
      if (graph_.type(leaf->value).size() == 1) tile.rows = 1;
      store(*leaf, tile);
    }
  }
}

// Results that others load from HBM come first: these wait for them.
bool RegionEmitter::waits_in_hbm(const Leaf& leaf) const {
  return leaf.output < 0 && !storage_.residency.unstored.contains(leaf.value);
}

bool RegionEmitter::reads_products(Value v) const {
  if (fusion_.region_of[v] != region_) return false;
  if (is_product(graph_.op(v).code)) return true;
  const auto& operands = graph_.op(v).operands;
  return std::any_of(operands.begin(), operands.end(), [&](Value x) { return reads_products(x); });
}

// Operands of spread values that are not there yet.
void RegionEmitter::load_short_rows() {
  for (const auto& [user, index] : layout_.load_of) {
    if (layout_.loads[index].is_matrix || !spread_of(user.first) || layout_.multiplies.contains(user.first)) continue;
    const std::int64_t rows = rows_;
    rows_ = partitions_of(user.first);
    operand(user.first, static_cast<std::size_t>(user.second));
    rows_ = rows;
  }
}

}  // namespace kiln::tensor
