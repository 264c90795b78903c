// Columns of HBM as rows on partitions: several blocks of 128 are loaded and stored together, so that DMAs move long
// runs of what lies beside each other, and turned one by one on the tensor engine.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kWideRun = 2048;   // bytes: beyond them a DMA gains little
constexpr std::int64_t kFullBlock = 112;  // rows: blocks of one size are worth it when they are not much smaller

// The size of blocks, at most 128, into which n rows fall: all of one size where that is possible.
std::int64_t block_size(std::int64_t n) {
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  return n % blocks == 0 && (n / blocks >= kFullBlock || blocks <= 2) ? n / blocks : kBlock;
}

// Calls body(first, count, size) for groups of up to `most` blocks of one size, then for what is left.
void over_parts(isa::Kernel& k, std::int64_t n, std::int64_t size, std::int64_t most,
                const std::function<void(Index, std::int64_t, std::int64_t)>& body) {
  k.tiles(n / size, most, [&](Index first, std::int64_t m) { body(first, m, size); });
  if (n % size) body(n / size, 1, n % size);
}

void times_over(isa::Kernel& k, std::int64_t n, const std::function<void(Index)>& body) {
  if (n == 1)
    body(0);
  else
    k.loop(n, body);
}

}  // namespace

// Elements of a row, one `stride` apart in HBM.
isa::Dim RegionEmitter::turned_row(const Leaf& leaf) const {
  std::vector<Dims> one{leaf.free};
  join_together(one);
  return one[0][0];
}

// How many blocks are worth it; 1: none has to be turned, or all that they take would not fit twice.
std::int64_t RegionEmitter::turned_together() const {
  if (layout_.packed != 1 || layout_.partitions <= kBlock || options_.turned_blocks <= 1 || streams()) return 1;
  for (Value v : fusion_.regions[region_].ops) {
    if (is_product(graph_.op(v).code)) return 1;
  }
  std::int64_t bytes = 0, element = 4, row = 0;  // of a partition, for one block
  const auto add = [&](const Leaf& leaf) {
    const DType t = graph_.type(leaf.value).dtype;
    element = std::min<std::int64_t>(element, size_bytes(t));
    row = std::max(row, turned_row(leaf).count);
    bytes += turned_row(leaf).count * size_bytes(t);
  };
  for (const Leaf& leaf : layout_.loads) {
    if (is_turned(leaf) && !kept(leaf)) add(leaf);
  }
  if (bytes == 0) return 1;
  for (const Leaf& leaf : layout_.stores) {
    if (is_turned(leaf) && !kept_result(leaf)) add(leaf);
  }
  const std::int64_t work = 3 * row * 4, room = arch_.sbuf_partition_bytes * 4 / 5 - work;
  const std::int64_t most =
      std::min({options_.turned_blocks * 4 / element, kWideRun / (kBlock * element), room / (2 * bytes)});
  const std::int64_t blocks = (layout_.partitions + kBlock - 1) / kBlock;
  if (most < 2) return 1;
  const std::int64_t groups = (blocks + most - 1) / most;
  return (blocks + groups - 1) / groups;
}

// Loads n columns and turns them: block after block of `size` columns, each with its whole rows.
Tile RegionEmitter::load_turned_group(int index, const Index& start, std::int64_t n, std::int64_t size) {
  const Leaf& leaf = layout_.loads[index];
  const DType t = Turner::held_as(graph_.type(leaf.value).dtype);
  const isa::Dim row = turned_row(leaf);
  const DType as = Turner::turned_as(t);  // DMAs convert
  const std::int64_t depth = block_size(row.count), bank = arch_.psum_bank_bytes / (depth * size_bytes(as));
  const std::int64_t blocks = (n + size - 1) / size;
  const Tile out = new_tile(k_, Memory::sbuf, std::min(n, size), {1, {blocks * row.count}}, t);
  start_ = start;
  const Index at = place(leaf);
  const Turner turner = turner_of(leaf);
  over_parts(k_, row.count, depth, bank, [&](Index first, std::int64_t m, std::int64_t rows) {
    const View wide = k_.sbuf({rows, m * n}, as);
    k_.dma_copy({.dst = wide.ap({{m * n, rows}, {n, m}, {1, n}}),
                 .src = storage_.of.at(leaf.base).ap({{row.stride, rows}, {row.stride * depth, m}, {1, n}},
                                                     at + first * (depth * row.stride))});
    over_parts(k_, n, size, 1, [&](Index block, std::int64_t, std::int64_t columns) {
      const View turned = turner.room({columns, m * rows}, t);
      times_over(k_, m, [&](Index i) {
        turner.block(turned.ap({{m * rows, columns}, {1, rows}}, i * rows),
                     wide.ap({{m * n, rows}, {1, columns}}, i * n + block * size));
      });
      k_.tensor_copy(
          {.dst = out.storage.ap({{out.storage.dim(1), columns}, {1, m * rows}}, block * row.count + first * depth),
           .src = turned,
           .engine = turner.taker(t)});
    });
  });
  return out;
}

// What a block has computed, turned back and beside what the other blocks have.
void RegionEmitter::turn_back(TurnedResult& result, const Tile& tile, const isa::Dim& row, const Turner& turner) {
  const DType t = tile.dtype();
  const std::int64_t depth = result.depth, n = result.columns;
  const std::int64_t bank = arch_.psum_bank_bytes / (rows_ * size_bytes(Turner::turned_as(t)));
  over_parts(k_, row.count, depth, bank, [&](Index first, std::int64_t m, std::int64_t rows) {
    const View turned = turner.room({rows, m * rows_}, t);
    times_over(k_, m, [&](Index i) {
      turner.block(turned.ap({{m * rows_, rows}, {1, rows_}}, i * rows_),
                   view_of(tile, {{row.stride, rows}}, (first * depth + i * depth) * row.stride));
    });
    k_.tensor_copy({.dst = result.all.ap({{result.all.dim(1), rows}, {n, m}, {1, rows_}}, first * n + result.at),
                    .src = turned.ap({{m * rows_, rows}, {rows_, m}, {1, rows_}}),
                    .engine = turner.taker(t)});
  });
  result.is_there = true;
}

void RegionEmitter::store_turned_group(const Leaf& leaf, const TurnedResult& result) {
  const isa::Dim row = turned_row(leaf);
  const View& hbm = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
  const std::int64_t full = row.count / result.depth, rest = row.count % result.depth, n = result.columns;
  const std::int64_t wide = result.all.dim(1);
  const Index at = place(leaf);
  k_.dma_copy({.dst = hbm.ap({{row.stride, result.depth}, {row.stride * result.depth, full}, {1, n}}, at),
               .src = result.all.ap({{wide, result.depth}, {n, full}, {1, n}})});
  if (rest)
    k_.dma_copy({.dst = hbm.ap({{row.stride, rest}, {1, n}}, at + full * result.depth * row.stride),
                 .src = result.all.ap({{wide, rest}, {1, n}}, full * n)});
}

// Room for what several blocks, n rows in all, store turned.
void RegionEmitter::gather_turned(const Leaf& leaf, std::int64_t n) {
  if (!is_turned(leaf) || kept_result(leaf)) return;
  const isa::Dim row = turned_row(leaf);
  const std::int64_t depth = block_size(row.count), blocks = (row.count + depth - 1) / depth;
  const DType t = Turner::held_as(graph_.type(leaf.value).dtype);
  turned_results_[&leaf] = {k_.sbuf({std::min(row.count, depth), blocks * n}, t), 0, n, depth, false};
}

void RegionEmitter::store_turned_groups() {
  for (const auto& [leaf, result] : turned_results_) {
    if (result.is_there) store_turned_group(*leaf, result);
  }
  turned_results_.clear();
}

void RegionEmitter::over_turned_groups(std::int64_t together) {
  const std::int64_t size = block_size(layout_.partitions);
  k_.tiles(layout_.partitions, together * size, [&](Index start, std::int64_t n) {
    scopes_.emplace_back();
    std::map<int, Tile> loaded;
    rows_ = size;
    for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
      const int index = static_cast<int>(i);
      if (is_turned(layout_.loads[i]) && !kept(layout_.loads[i]))
        loaded[index] = load_turned_group(index, start, n, size);
    }
    for (const Leaf& leaf : layout_.stores) gather_turned(leaf, n);
    over_parts(k_, n, size, 1, [&](Index block, std::int64_t, std::int64_t rows) {
      for (const auto& [index, tile] : loaded) {
        const std::int64_t count = turned_row(layout_.loads[index]).count;
        Tile part{tile.storage, block * count, {0, 1}, layout_.loads[index].free, rows};
        part.dims = Strided::contiguous(Strided{0, part.dims}.shape()).dims;
        scopes_.back().leaves[index] = part;
      }
      for (auto& [leaf, result] : turned_results_) result.at = block * size;
      body(start + block * size, rows);
    });
    start_ = start;
    store_turned_groups();
    scopes_.pop_back();
  });
}

}  // namespace kiln::tensor
