// Passes of the innermost loop whose rows come and go together: where rows lie at several strides, such as patches of
// an image, a pass has few short rows, and DMAs would take longer to be started than to move them.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;

namespace {
constexpr std::int64_t kMostBytes = 48 << 10, kMostPasses = 16;  // of a partition, for all that moves
constexpr std::int64_t kFewestSteps = 8;                         // in which one computes what another one moves

std::int64_t elements_of(const Leaf& leaf) {
  std::int64_t n = 1;
  for (const isa::Dim& d : leaf.free) n *= d.stride == 0 ? 1 : d.count;
  return n;
}

// Calls move(tile dims, HBM dims, place in the tile, place in HBM) for what a DMA takes.
void over_patterns(isa::Kernel& k, std::size_t most, const Dims& tile, const Dims& hbm, const Index& at_tile,
                   const Index& at_hbm,
                   const std::function<void(const Dims&, const Dims&, const Index&, const Index&)>& move) {
  if (tile.size() <= most) return move(tile, hbm, at_tile, at_hbm);
  const Dims tile_rest(tile.begin() + 1, tile.end()), hbm_rest(hbm.begin() + 1, hbm.end());
  k.loop(tile[0].count, [&](Index i) {
    over_patterns(k, most, tile_rest, hbm_rest, at_tile + i * tile[0].stride, at_hbm + i * hbm[0].stride, move);
  });
}
}  // namespace

// Whether a leaf is another one in each pass, and lies as runs.
bool RegionEmitter::moves_with_passes(const Leaf& leaf) const {
  return leaf.loops.back() != 0 && !leaf.is_matrix && !is_turned(leaf);
}

// How many passes; 1: each by itself.
std::int64_t RegionEmitter::passes_together() const {
  if (options_.passes_together <= 1 || layout_.loops.empty() || layout_.packed != 1 || attention_ || streams())
    return 1;
  if (!layout_.spread.empty() || !row_sums_.empty()) return 1;
  for (Value v : fusion_.regions[region_].ops) {
    const OpCode code = graph_.op(v).code;
    const bool fits = is_elementwise(code) || is_view(code) || code == OpCode::where || code == OpCode::cast ||
                      code == OpCode::concat || (code >= OpCode::sum && code <= OpCode::min);
    if (!fits) return 1;
  }
  const auto turns = [&](const Leaf& leaf) { return is_turned(leaf); };  // whose blocks go together in their own way
  if (std::any_of(layout_.loads.begin(), layout_.loads.end(), turns)) return 1;
  if (std::any_of(layout_.stores.begin(), layout_.stores.end(), turns)) return 1;
  std::int64_t bytes = 0;
  const auto add = [&](const Leaf& leaf) {
    if (moves_with_passes(leaf)) bytes += elements_of(leaf) * size_bytes(graph_.type(leaf.value).dtype);
  };
  for (const Footprint& f : layout_.footprints) {
    const Leaf& leaf = layout_.loads[static_cast<std::size_t>(f.loads[0])];
    if (moves_with_passes(leaf)) bytes += f.span * size_bytes(graph_.type(leaf.value).dtype);
  }
  std::for_each(layout_.loads.begin(), layout_.loads.end(), add);
  for (const Leaf& leaf : layout_.stores) {
    if (kept_result(leaf) || graph_.type(leaf.value).dtype == DType::bool_) return 1;
    add(leaf);
  }
  const std::int64_t count = layout_.loops.back(), at_once = layout_.units_of(arch_.partitions);
  const std::int64_t steps = product(layout_.loops) * ((layout_.units() + at_once - 1) / at_once);
  std::int64_t best = 1;
  for (std::int64_t n = 2; n <= std::min(kMostPasses, count) && n * bytes <= kMostBytes; ++n) {
    if (count % n == 0 && steps >= kFewestSteps * n) best = n;
  }
  return best;
}

// What a leaf is in `passes` passes, one after the other on each partition.
Tile RegionEmitter::tile_of_passes(const Leaf& leaf, DType dtype, std::int64_t passes) {
  return new_tile(k_, Memory::sbuf, rows_, {1, {passes * elements_of(leaf)}}, dtype);
}

Tile RegionEmitter::of_pass(const Leaf& leaf, const Tile& all, const Index& pass) const {
  Shape own;
  for (const isa::Dim& d : leaf.free) own.push_back(d.stride == 0 ? 1 : d.count);
  Tile out{all.storage, pass * elements_of(leaf), {0, 1}, Strided::contiguous(own).dims, rows_};
  for (std::size_t d = 0; d < own.size(); ++d) {
    if (leaf.free[d].stride == 0) out.dims[d] = {0, leaf.free[d].count};
  }
  return out;
}

// `free` is what a pass moves, from `skip` elements behind the leaf on.
void RegionEmitter::move_passes(const Leaf& leaf, const Dims& free, std::int64_t skip, const Tile& all,
                                std::int64_t passes, bool loads) {
  Shape own{passes};
  Dims there{{leaf.loops.back(), passes}};
  for (const isa::Dim& d : free) {
    own.push_back(d.stride == 0 ? 1 : d.count);
    there.push_back({d.stride, own.back()});
  }
  std::vector<Dims> lists{Strided::contiguous(own).dims, there};
  join_together(lists);
  const Dims rows = layout_.on_partitions(leaf, rows_);
  const isa::View& hbm = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
  over_patterns(k_, isa::kMaxOperandRank - rows.size(), lists[0], lists[1], 0, place(leaf) + skip,
                [&](const Dims& tile, const Dims& source, const Index& at_tile, const Index& at_hbm) {
                  Dims pattern = rows;
                  pattern.insert(pattern.end(), source.begin(), source.end());
                  const isa::View sbuf = view_of(all, tile, at_tile), far = hbm.ap(pattern, at_hbm);
                  k_.dma_copy({.dst = loads ? sbuf : far, .src = loads ? far : sbuf});
                });
}

void RegionEmitter::over_passes_together(std::int64_t passes) {
  const auto blocks = [&](const Index& first) {
    k_.tiles(layout_.units(), layout_.units_of(arch_.partitions), [&](Index start, std::int64_t units) {
      const std::int64_t outer = rows_;
      rows_ = units * layout_.grouped;
      start_ = start;
      at_.back() = first;
      scopes_.emplace_back();
      std::map<int, Tile> loaded;
      for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
        const Leaf& leaf = layout_.loads[i];
        if (!moves_with_passes(leaf) || kept(leaf) || shared(static_cast<int>(i))) continue;
        loaded[static_cast<int>(i)] = tile_of_passes(leaf, tile_dtype(leaf.value), passes);
        move_passes(leaf, leaf.free, 0, loaded[static_cast<int>(i)], passes, true);
      }
      std::map<const Footprint*, Tile> runs;
      for (const Footprint& f : layout_.footprints) {
        const Leaf& leaf = layout_.loads[static_cast<std::size_t>(f.loads[0])];
        if (!moves_with_passes(leaf) || shared(f.loads[0]) != &f) continue;
        runs[&f] = new_tile(k_, Memory::sbuf, rows_, {1, {passes * f.span}}, tile_dtype(leaf.value));
        move_passes(leaf, {{1, f.span}}, f.offset - leaf.offset, runs[&f], passes, true);
      }
      std::map<const Leaf*, Tile> made;
      for (const Leaf& leaf : layout_.stores) {
        if (moves_with_passes(leaf)) made[&leaf] = tile_of_passes(leaf, graph_.type(leaf.value).dtype, passes);
      }
      k_.loop(passes, [&](Index pass) {
        at_.back() = first + pass;
        scopes_.emplace_back();
        for (const auto& [i, tile] : loaded)
          scopes_.back().leaves[i] = of_pass(layout_.loads[static_cast<std::size_t>(i)], tile, pass);
        for (const auto& [footprint, tile] : runs)
          scopes_.back().footprints[footprint] = {
              tile.storage, pass * footprint->span, {0, 1}, {{1, footprint->span}}, rows_};
        for (const auto& [leaf, tile] : made) pass_results_[leaf] = of_pass(*leaf, tile, pass);
        body(start, rows_);
        pass_results_.clear();
        scopes_.pop_back();
      });
      at_.back() = first;
      start_ = start;
      for (const Leaf& leaf : layout_.stores) {
        if (made.contains(&leaf)) move_passes(leaf, leaf.free, 0, made.at(&leaf), passes, false);
      }
      scopes_.pop_back();
      rows_ = outer;
    });
  };
  const std::int64_t groups = layout_.loops.back() / passes;
  at_.emplace_back(0);
  if (groups == 1)
    blocks(0);
  else
    k_.loop(groups, [&](Index group) { blocks(group * passes); });
  at_.pop_back();
}

}  // namespace kiln::tensor
