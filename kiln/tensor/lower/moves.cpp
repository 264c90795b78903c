// What regions load from HBM and store there, block by block.
#include <algorithm>

#include "kiln/tensor/ir/weak.h"
#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;

Index RegionEmitter::place(const Leaf& leaf) const {
  Index at = storage_.begin(leaf.base) + leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  return at + start_ * layout_.step(leaf);
}

// Loads what a leaf is in the present loops: its own elements once, repeated ones as a stride of 0.
Tile RegionEmitter::load(int index) {
  const Leaf& leaf = layout_.loads[index];
  if (now_ == kScalar) k_.at(k_.program().add_loc(graph_.loc(graph_.op(leaf.value))));
  if (for_all_blocks_.contains(index)) return of_this_block(index);
  Dims from = leaf.free;
  Index at = place(leaf);
  const auto first = first_rows_.find(index);
  if (const Tile* row = first == first_rows_.end() ? kept(leaf) : &first->second) {
    Tile tile{row->storage, place_in_row(leaf), {0, 1}, from, rows_};
    if (first != first_rows_.end()) {
      std::int64_t n = 1;
      for (const isa::Dim& d : from) n *= d.count;
      tile.offset = start_ * ((n + kBlock - 1) / kBlock);
    }
    if (columns_ && !from.empty() && from.back().count == columns_->extent) {
      tile.offset += columns_->start * from.back().stride;
      tile.dims.back().count = columns_->size;
    }
    return tile;
  }
  if (const std::optional<Tile> tile = spread_kept(leaf)) return *tile;
  if (const Footprint* all = shared(index)) return load_shared(index, *all);
  if (columns_ && !from.empty() && from.back().count == columns_->extent) {
    at += columns_->start * from.back().stride;
    from.back().count = columns_->size;
  }
  if (is_turned(leaf)) {
    std::vector<Dims> one{from};
    join_together(one);
    const DType t = Turner::held_as(graph_.type(leaf.value).dtype);
    Tile tile = new_tile(k_, Memory::sbuf, rows_, {1, Strided{0, from}.shape()}, t);
    turner_of(leaf).from_hbm({tile.storage, 0, {0, 1}, {{1, one[0][0].count}}, rows_}, storage_.of.at(leaf.base), at,
                             rows_, one[0][0].stride, one[0][0].count);
    return tile;
  }
  Free free{leaf.packed == 0 ? 1 : layout_.packed, {}};
  for (const isa::Dim& d : from) free.dims.push_back(d.stride == 0 ? 1 : d.count);
  const auto stays = columns_ ? resident_.find(index) : resident_.end();
  Tile tile;
  if (stays != resident_.end()) {
    const Tile& whole = stays->second.whole;
    tile = {whole.storage, columns_->start, {0, 1}, Strided::contiguous(free.dims).dims, rows_};
    if (stays->second.is_there) return tile;
    stays->second.is_loaded = true;
  } else {
    tile = new_tile(k_, Memory::sbuf, rows_, free, tile_dtype(leaf.value));
  }
  std::vector<Dims> lists{spread_dims(tile, free), {}};
  lists[1].push_back({leaf.packed, free.packed});
  for (std::size_t d = 0; d < from.size(); ++d) lists[1].push_back({from[d].stride, free.dims[d]});
  join_together(lists);
  const isa::View& hbm = storage_.of.at(leaf.base);
  const std::function<void(const Dims&, const Dims&, Index, Index)> copy_in = [&](const Dims& to, const Dims& source,
                                                                                  Index more, Index source_more) {
    Dims pattern = layout_.on_partitions(leaf, rows_);
    if (columns_ && columns_->spread) pattern = {{columns_->size, rows_}};
    if (pattern.size() + to.size() <= isa::kMaxOperandRank) {
      pattern.insert(pattern.end(), source.begin(), source.end());
      k_.dma_copy({.dst = view_of(tile, to, more), .src = hbm.ap(pattern, at + source_more)});
      return;
    }
    k_.loop(to[0].count, [&](Index i) {
      copy_in(Dims(to.begin() + 1, to.end()), Dims(source.begin() + 1, source.end()), more + i * to[0].stride,
              source_more + i * source[0].stride);
    });
  };
  copy_in(lists[0], lists[1], 0, 0);
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d].stride == 0) tile.dims[d] = {0, from[d].count};
  }
  return tile;
}

// An operand that is turned for nobody else is turned where it is wanted; false: it is not such a one.
bool RegionEmitter::load_into(Value op, std::size_t i, const Tile& part) {
  const auto found = layout_.load_of.find({op, static_cast<int>(i)});
  if (found == layout_.load_of.end() || columns_ || layout_.packed != 1) return false;
  const Leaf& leaf = layout_.loads[found->second];
  const auto is_there = [&](const Scope& s) { return s.leaves.contains(found->second); };
  if (!is_turned(leaf) || kept(leaf) || std::any_of(scopes_.begin(), scopes_.end(), is_there)) return false;
  if (!Turner::takes(graph_.type(leaf.value).dtype)) return false;
  const auto same = [&](const auto& other) { return other.second == found->second; };
  if (std::count_if(layout_.load_of.begin(), layout_.load_of.end(), same) != 1) return false;
  std::vector<Dims> lists{leaf.free, part.dims};
  join_together(lists);
  if (part.dtype() != graph_.type(leaf.value).dtype || lists[0].size() != 1 || lists[1][0].stride != 1) return false;
  const isa::Dim row = lists[0][0];
  turner().from_hbm({part.storage, part.offset, {0, 1}, {{1, row.count}}, rows_}, storage_.of.at(leaf.base),
                    place(leaf), rows_, row.stride, row.count);
  return true;
}

// The footprint that a load comes with. Of pieces of rows, that of the piece, if it is no more than they are by
// themselves.
const Footprint* RegionEmitter::shared(int index) const {
  const Leaf& leaf = layout_.loads[index];
  if (kept(leaf) || is_turned(leaf)) return nullptr;
  const Footprint* all = layout_.footprint(index);
  if (!columns_ || !all) return all;
  if (columns_->spread || leaf.free.back().count != columns_->extent) return nullptr;
  const bool is_alone = all->loads.size() == 1;  // every second element, or the like
  const auto loads = static_cast<std::int64_t>(all->loads.size());
  return is_alone || span_of_piece(*all, leaf) <= loads * columns_->size ? all : nullptr;
}

// Elements of a footprint that a piece of its rows has.
std::int64_t RegionEmitter::span_of_piece(const Footprint& all, const Leaf& leaf) const {
  return all.span - (columns_->extent - columns_->size) * leaf.free.back().stride;
}

// A view of what is loaded once for several operands.
Tile RegionEmitter::load_shared(int index, const Footprint& all) {
  const Leaf& leaf = layout_.loads[index];
  const Tile* loaded = nullptr;
  for (const Scope& s : scopes_) {
    if (const auto it = s.footprints.find(&all); it != s.footprints.end()) loaded = &it->second;
  }
  Dims free = leaf.free;
  std::int64_t span = all.span;
  Index skip = 0;
  if (columns_) {
    span = span_of_piece(all, leaf);
    skip = columns_->start * free.back().stride;
    free.back().count = columns_->size;
  }
  if (!loaded) {
    const Tile run = new_tile(k_, Memory::sbuf, rows_, {1, {span}}, tile_dtype(leaf.value));
    Dims pattern = layout_.on_partitions(leaf, rows_);
    pattern.push_back({1, span});
    k_.dma_copy({.dst = view_of(run, {{1, span}}),
                 .src = storage_.of.at(leaf.base).ap(pattern, place(leaf) + skip + (all.offset - leaf.offset))});
    loaded = &(scopes_.back().footprints[&all] = run);
  }
  const isa::Dim packed = layout_.packed == 1 ? isa::Dim{0, 1} : isa::Dim{leaf.packed, layout_.packed};
  Index first = loaded->offset + (leaf.offset - all.offset);
  if (loaded->count() != span) first += skip;  // the whole row was there
  return {loaded->storage, first, packed, free, rows_};
}

// Rows lie next to each other in HBM and elements of a row apart: moved as they are, every element would be a transfer.
bool RegionEmitter::is_turned(const Leaf& leaf) const {
  if (leaf.partition != 1 || layout_.packed != 1 || layout_.grouped != 1 ||
      !Turner::turns(graph_.type(leaf.value).dtype) || rows_ < 8)
    return false;
  std::vector<Dims> one{leaf.free};
  join_together(one);
  return one[0].size() == 1 && one[0][0].stride > 1 && one[0][0].count >= 8;
}

// Products with 0 and 1 make NaN of what is no number, for all that is turned with it.
Turner RegionEmitter::turner_of(const Leaf& leaf) {
  Turner made = turner();
  made.as_bits = !is_float(graph_.type(leaf.value).dtype) || storage_.no_numbers.contains(leaf.value) ||
                 storage_.no_numbers.contains(leaf.base);
  return made;
}

// What leaves PSUM for HBM is converted on the way.
Tile RegionEmitter::in_dtype_of_store(const Tile& t, const Free& free, DType dtype) {
  const Tile out = new_tile(k_, Memory::sbuf, rows_, free, dtype);
  copy(out, t, free);
  return out;
}

void RegionEmitter::store(const Leaf& leaf, const Tile& given) {
  k_.at(k_.program().add_loc(graph_.loc(graph_.op(leaf.value))));
  if (const SpreadRow* s = spread_of(leaf.value); s && graph_.type(leaf.value).size() > 1)
    return store_spread(leaf, given, *s);
  const Free free = free_of(leaf.value);
  if (const Tile* row = kept_result(leaf)) {
    const Tile there = place_of_kept(leaf, *row);
    if (given.storage.tensor() != there.storage.tensor()) copy(there, given, free);  // else it was made there
    return;
  }
  if (const auto result = pass_results_.find(&leaf); result != pass_results_.end()) {
    if (given.storage.tensor() != result->second.storage.tensor()) copy(result->second, given, free);
    return;
  }
  const DType stored_as = graph_.type(leaf.value).dtype;
  const Tile tile = given.in_psum() && stored_as != DType::bool_ ? in_dtype_of_store(given, free, stored_as) : given;
  if (layout_.parts > 1 && leaf.partition == 0) return store_of_rows(leaf, tile);
  Dims to = leaf.free;
  Index at = place(leaf);
  if (columns_ && !to.empty() && to.back().count == columns_->extent) {
    at += columns_->start * to.back().stride;
    to.back().count = columns_->size;
  }
  std::vector<Dims> lists{spread_dims(tile, free), {}};
  lists[1].push_back({leaf.packed, free.packed});
  lists[1].insert(lists[1].end(), to.begin(), to.end());
  join_together(lists);
  if (const auto group = turned_results_.find(&leaf); group != turned_results_.end() && lists[0].size() == 1)
    return turn_back(group->second, tile, lists[0][0], turner_of(leaf));
  if (is_turned(leaf) && tile.dtype() == Turner::held_as(graph_.type(leaf.value).dtype) && lists[0].size() == 1) {
    const std::int64_t n = lists[0][0].count, blocks = (n + kBlock - 1) / kBlock, stride = lists[1][0].stride;
    const Tile turned = new_tile(k_, Memory::sbuf, std::min(n, kBlock), {1, {blocks * rows_}}, tile.dtype());
    turner_of(leaf).tile(turned, {tile.storage, tile.offset, {0, 1}, lists[0], rows_}, n);
    const isa::View& whole = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
    const std::int64_t row = turned.storage.dim(1), full = n / kBlock;
    if (full)
      k_.dma_copy({.dst = whole.ap({{stride, kBlock}, {stride * kBlock, full}, {1, rows_}}, at),
                   .src = turned.storage.ap({{row, kBlock}, {rows_, full}, {1, rows_}})});
    if (n % kBlock)
      k_.dma_copy({.dst = whole.ap({{stride, n % kBlock}, {1, rows_}}, at + full * kBlock * stride),
                   .src = turned.storage.ap({{row, n % kBlock}, {1, rows_}}, full * rows_)});
    return;
  }
  const isa::View& hbm = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
  const std::function<void(const Dims&, const Dims&, Index, Index)> copy_out = [&](const Dims& source, const Dims& dst,
                                                                                   Index more, Index dst_more) {
    Dims pattern = layout_.on_partitions(leaf, rows_);
    if (pattern.size() + source.size() <= isa::kMaxOperandRank) {
      pattern.insert(pattern.end(), dst.begin(), dst.end());
      k_.dma_copy({.dst = hbm.ap(pattern, at + dst_more), .src = view_of(tile, source, more)});
      return;
    }
    k_.loop(source[0].count, [&](Index i) {
      copy_out(Dims(source.begin() + 1, source.end()), Dims(dst.begin() + 1, dst.end()), more + i * source[0].stride,
               dst_more + i * dst[0].stride);
    });
  };
  copy_out(lists[0], lists[1], 0, 0);
}

}  // namespace kiln::tensor
