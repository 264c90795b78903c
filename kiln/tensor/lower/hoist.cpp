// What is loaded before inner loops begin: operands that move with fewer of them, and matrices that fit.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

// An operand that moves with fewer loops than there are is loaded before the inner ones begin.
bool RegionEmitter::is_hoisted(const Leaf& leaf) const {
  if (leaf.is_matrix || layout_.level(leaf) == layout_.body_level()) return false;
  if (layout_.loops.empty() && layout_.partitions <= arch_.partitions)
    return false;  // nothing repeats: when it is needed
  std::int64_t n = size_bytes(graph_.type(leaf.value).dtype);
  for (const isa::Dim& d : leaf.free) n *= d.stride == 0 ? 1 : d.count;
  return n <= options_.hoisted_bytes;
}

// Whether products load a leaf as columns, and nobody else loads it.
bool RegionEmitter::is_for_products(int index) const {
  const Leaf& leaf = layout_.loads[index];
  if (leaf.partition != 1 || leaf.free.empty() || leaf.free.back().stride == 1) return false;
  for (const auto& [user, i] : layout_.load_of) {
    if (i == index && !(is_product(graph_.op(user.first).code) && user.second == 0)) return false;
  }
  return true;
}

// Whether the rows of a load come before the matrices that they meet: runs, which no DMA turns, of several blocks.
bool RegionEmitter::comes_first(int index) const {
  constexpr std::int64_t kMostBytes = 16384;  // of a partition
  const Leaf& leaf = layout_.loads[index];
  const DType t = graph_.type(leaf.value).dtype;
  if (leaf.is_matrix || !is_float(t) || kept(leaf) || is_turned(leaf) || layout_.footprint(index)) return false;
  if (leaf.partition == 0 || leaf.packed != leaf.partition || is_for_products(index)) return false;
  for (const auto& [user, i] : layout_.load_of) {
    if (i == index && is_product(graph_.op(user.first).code) && turns_in_dma(user.first, kBlock)) return false;
  }
  std::vector<Dims> one{leaf.free};
  join_together(one);
  const std::int64_t blocks = (layout_.partitions + kBlock - 1) / kBlock;
  return one[0].size() == 1 && one[0][0].stride == 1 &&
         blocks * (one[0][0].count + kBlock) * size_bytes(t) <= kMostBytes;
}

// The first block, then the others: what is computed with it waits for nothing else.
void RegionEmitter::load_blocks_first() {
  const auto is_given = [&](const Leaf& leaf) { return leaf.is_matrix && !kept(leaf); };
  if (attention_ || layout_.partitions <= kBlock || layout_.packed != 1 || layout_.grouped != 1 ||
      !layout_.loops.empty())
    return;
  if (!layout_.spread.empty() || std::none_of(layout_.loads.begin(), layout_.loads.end(), is_given)) return;
  if (!options_.rows_first) return;
  for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
    const int index = static_cast<int>(i);
    if (!comes_first(index)) continue;
    const Leaf& leaf = layout_.loads[i];
    std::int64_t n = 1;
    for (const isa::Dim& d : leaf.free) n *= d.count;
    const std::int64_t pitch = (n + kBlock - 1) / kBlock * kBlock, rows = layout_.partitions;
    const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
    const Tile all = new_tile(k_, Memory::sbuf, kBlock, {1, {blocks * pitch}}, graph_.type(leaf.value).dtype);
    const auto load = [&](std::int64_t first, std::int64_t count, std::int64_t of_block) {
      if (count == 0) return;
      k_.dma_copy({.dst = all.storage.ap({{blocks * pitch, of_block}, {pitch, count}, {1, n}}, first * pitch),
                   .src = storage_.of.at(leaf.base).ap(
                       {{leaf.partition, of_block}, {leaf.partition * kBlock, count}, {1, n}},
                       storage_.begin(leaf.base) + leaf.offset + first * kBlock * leaf.partition)});
    };
    load(0, 1, kBlock);
    load(1, rows / kBlock - 1, kBlock);
    if (rows % kBlock) load(rows / kBlock, 1, rows % kBlock);
    first_rows_[index] = all;
  }
}

void RegionEmitter::hoist(int level) {
  if (level == 0 && first_rows_.empty()) load_blocks_first();
  for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
    const Leaf& leaf = layout_.loads[i];
    if (is_for_products(static_cast<int>(i)) || (attention_ && attention_->unloaded.contains(static_cast<int>(i))))
      continue;
    if ((unshifted_ || (attention_ && attention_->few)) && is_of_function(static_cast<int>(i))) continue;
    if (level == 0 && comes_for_all_blocks(static_cast<int>(i))) load_for_all_blocks(static_cast<int>(i));
    if (layout_.level(leaf) == level && is_hoisted(leaf) && !kept(leaf))
      scopes_.back().leaves[static_cast<int>(i)] = load(static_cast<int>(i));
  }
  for (Value v : fusion_.regions[region_].ops) {  // a row that comes as columns is there before the matrix
    if (layout_.loops.empty() && is_product(graph_.op(v).code) && depth_of(v).follows && comes_as_columns(v))
      turned_rows(v);
  }
  if (has_few_rows()) load_rows_first();
  for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
    const Leaf& leaf = layout_.loads[i];
    if (!leaf.is_matrix || layout_.level(leaf) != level) continue;
    const int index = static_cast<int>(i);
    if (const auto held = storage_.held.find({region_, index}); held != storage_.held.end()) {
      scopes_.back().matrices[index] = held->second;
      continue;
    }
    if (attention_ && attention_->few && layout_.load_of.at({attention_->result, 1}) == index) continue;
    const auto is_of = [&](Value op) { return unshifted_ && layout_.load_of.at({op, 1}) == index; };
    const bool values = unshifted_ && is_of(attention_->result), keys = unshifted_ && is_of(attention_->scores);
    const std::int64_t blocks = (leaf.free[0].count + 127) / 128;
    const std::int64_t bytes = blocks * leaf.free[1].count * size_bytes(graph_.type(leaf.value).dtype);
    if (bytes > options_.hoisted_bytes && !values && !keys && !kept_blocks(leaf.base)) continue;
    const std::int64_t copies = layout_.packed > 1 ? copies_above(index) : 1;
    scopes_.back().matrices[index] = values       ? load_values(index)
                                     : copies > 1 ? load_above(index, copies)
                                                  : load_matrix(index, 0, leaf.free[1].count);
  }
  if (unshifted_ && !attention_->function.empty()) hold_operands(level);
}

// Few rows in one block that meet matrices: most of the time goes by while matrices are loaded.
bool RegionEmitter::has_few_rows() const {
  constexpr std::int64_t kFew = 16;
  const auto is_matrix = [](const Leaf& leaf) { return leaf.is_matrix; };
  return layout_.loops.empty() && layout_.packed == 1 && layout_.partitions <= kFew &&
         std::any_of(layout_.loads.begin(), layout_.loads.end(), is_matrix);
}

// What is short does not wait for the matrices.
void RegionEmitter::load_rows_first() {
  constexpr std::int64_t kShort = 8192, kNumbers = 64;  // bytes of a partition; a few numbers come in time anyway
  for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
    const Leaf& leaf = layout_.loads[i];
    const int index = static_cast<int>(i);
    if (leaf.is_matrix || kept(leaf) || is_turned(leaf) || is_for_products(index)) continue;
    if (attention_ && (attention_->unloaded.contains(index) || (attention_->few && is_of_function(index)))) continue;
    std::int64_t bytes = size_bytes(graph_.type(leaf.value).dtype);
    for (const isa::Dim& d : leaf.free) bytes *= d.stride == 0 ? 1 : d.count;
    const bool read = std::any_of(layout_.load_of.begin(), layout_.load_of.end(), [&](const auto& use) {
      return use.second == index && !is_product(graph_.op(use.first.first).code) && is_wanted_as_row(use.first.first);
    });
    if (read && bytes > kNumbers && bytes <= kShort) scopes_.back().leaves[index] = load(index);
  }
}

}  // namespace kiln::tensor
