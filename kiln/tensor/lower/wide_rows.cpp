// Rows that lie in HBM as columns, as products want them: several blocks of rows are loaded at once, so that runs in
// HBM are long.
#include <algorithm>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/long_sums.h"

namespace kiln::tensor {

using isa::Index;

namespace {

constexpr std::int64_t kWideBytes = 16 << 10;  // of a partition, for the rows of all blocks
constexpr std::int64_t kLongRun = 2048;        // bytes, beyond which DMAs gain nothing

}  // namespace

// The first operands of products that lie in HBM as columns.
std::vector<Value> RegionEmitter::rows_as_columns() const {
  std::vector<Value> out;
  for (const auto& [user, index] : layout_.load_of) {
    if (user.second != 0 || !is_product(graph_.op(user.first).code) || !is_for_products(index)) continue;
    if (!kept(layout_.loads[index])) out.push_back(user.first);
  }
  return out;
}

// How many blocks of rows to load together; 1: one after the other.
std::int64_t RegionEmitter::wide_blocks() const {
  if (attention_ || layout_.packed != 1 || layout_.partitions < 2 * kBlock) return 1;
  std::int64_t bytes = 0, widest = 0;
  for (Value v : rows_as_columns()) {
    const Type& t = graph_.type(graph_.op(v).operands[0]);
    if (t.shape.back() > longest_sum(t.dtype)) return 1;  // which comes in pieces
    widest = std::max<std::int64_t>(widest, kBlock * size_bytes(t.dtype));
    bytes += (t.shape.back() + kBlock - 1) / kBlock * kBlock * size_bytes(t.dtype);
  }
  if (bytes == 0) return 1;
  return std::clamp<std::int64_t>(kWideBytes / bytes, 1, kLongRun / widest);
}

void RegionEmitter::over_wide_blocks(std::int64_t together) {
  const std::vector<Value> products = rows_as_columns();
  const std::int64_t outer = rows_;
  k_.tiles(layout_.partitions, together * kBlock, [&](Index first, std::int64_t all) {
    start_ = first;
    rows_ = all;
    std::map<Value, Tile> wide;
    for (Value v : products) {
      const Value x = graph_.op(v).operands[0];
      const Depth depth = depth_of(v);
      const auto [it, made] = wide.try_emplace(x);
      if (!made) continue;
      it->second = new_tile(k_, Memory::sbuf, depth.rows, {1, {depth.blocks * all}}, graph_.type(x).dtype);
      turn_rows(v, it->second);
    }
    rows_ = outer;
    for (const Leaf& leaf : layout_.stores) {
      const Shape& shape = graph_.type(leaf.value).shape;
      if (all > kBlock && !shape.empty() && !goes_in_pieces(leaf.value, shape.back())) gather_turned(leaf, all);
    }
    k_.tiles(all, kBlock, [&](Index start, std::int64_t rows) {
      for (auto& [leaf, result] : turned_results_) result.at = start;
      scopes_.emplace_back();
      for (const auto& [x, tile] : wide)
        scopes_.back().turned[x] = {tile.storage, tile.offset + start, {0, 1}, {{all, 1}, {1, rows}}, tile.rows};
      body(first + start, rows);
      scopes_.pop_back();
    });
    start_ = first;
    store_turned_groups();
  });
}

// How far blocks of K of rows that are turned lie apart: those of one block of rows, or of several.
std::int64_t RegionEmitter::width_of_turned(const Tile& x) const {
  return x.dims.size() == 2 ? x.dims[0].stride : rows_;
}

}  // namespace kiln::tensor
