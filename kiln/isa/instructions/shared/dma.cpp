#include "kiln/isa/instructions/shared/dma.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/semantics/tile.h"

namespace kiln::isa {
namespace {

// Contiguous runs of an access: every partition row on chip is one of its own.
double runs(const CostQuery& q, const Access& a) {
  const int first = is_on_chip(q.program().tensors[a.tensor].memory) || a.dynamic != kNone ? 1 : 0;
  Dim merged[kMaxRank];
  const int rank = merge_dims(a.dims + first, a.rank - first, merged);
  const std::int64_t run = rank > 0 && merged[rank - 1].stride == 1 ? merged[rank - 1].count : 1;
  return static_cast<double>(a.count()) / static_cast<double>(run);
}

double bytes(const Access& a) { return static_cast<double>(a.count()) * size_bytes(a.dtype); }

}  // namespace

Cost dma_cost(const CostQuery& q, const Access& dst, std::span<const Access> srcs, double rate) {
  Cost c{.dma_bytes = bytes(dst), .dma_descriptors = runs(q, dst), .dma_rate = rate};
  double read = 0;
  for (const Access& s : srcs) {
    read += bytes(s);
    c.dma_descriptors = std::max(c.dma_descriptors, runs(q, s));
  }
  c.dma_bytes = std::max(c.dma_bytes, read);
  return c;
}

void track_transfer(Track& t, int dst, int srcs) {
  const std::vector<std::uint8_t> skipped = t.skipped_rows(srcs);
  if (skipped.empty() && t.is_clean(srcs)) return t.write_clean(dst);
  const std::size_t n = t.access(dst).count();
  std::vector<Shadow> shadow(n);
  if (!t.is_clean(srcs)) {
    const std::vector<Shadow> in = t.read(srcs);
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (shadow[i % n] == 0) shadow[i % n] = in[i];
    }
  }
  if (skipped.empty() && t.skipped_rows(dst).empty()) return t.write(dst, shadow);
  std::vector<std::uint8_t> moved(n, 1);
  std::size_t row = 0;
  const auto mark = [&](const Access& source) {
    const std::size_t width = source.row_size();
    for (std::size_t r = 0; row < skipped.size() && r < static_cast<std::size_t>(source.rows()); ++r, ++row) {
      if (skipped[row]) std::fill_n(moved.begin() + r * width, width, 0);
    }
  };
  if (t.is_tile(srcs)) {
    mark(t.access(srcs));
  } else {
    for (const Access& source : t.accesses(srcs)) mark(source);
  }
  t.write_where(dst, shadow, moved);
}

// Whether two rows go to the same place. Those of a tile are looked up in a table with room for four times as many,
// which takes a fraction of the time that sorting them does.
static bool has_duplicates(std::span<const std::int64_t> offsets) {
  constexpr std::size_t kMost = 128, kPlaces = 512;
  if (offsets.size() > kMost) {
    std::vector<std::int64_t> sorted(offsets.begin(), offsets.end());
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(std::upper_bound(sorted.begin(), sorted.end(), kSkipRow), sorted.end()) != sorted.end();
  }
  std::array<std::int64_t, kPlaces> table;
  table.fill(kSkipRow);
  for (const std::int64_t offset : offsets) {
    if (offset == kSkipRow) continue;
    std::size_t at = (static_cast<std::uint64_t>(offset) * 0x9e3779b97f4a7c15u) >> 55;
    while (table[at] != kSkipRow && table[at] != offset) at = (at + 1) % kPlaces;
    if (table[at] == offset) return true;
    table[at] = offset;
  }
  return false;
}

RowPair find_duplicate_row(const Tile& scattered, FunctionRef<bool(std::int64_t, std::int64_t)> differ) {
  if (!scattered.row_offset) return {-1, -1};
  if (!has_duplicates({scattered.row_offset, static_cast<std::size_t>(scattered.rows)})) return {-1, -1};
  std::unordered_map<std::int64_t, std::int64_t> seen;
  for (std::int64_t row = 0; row < scattered.rows; ++row) {
    if (scattered.row_offset[row] == kSkipRow) continue;
    const auto [it, is_new] = seen.try_emplace(scattered.row_offset[row], row);
    if (!is_new && differ(it->second, row)) return {it->second, row};
  }
  return {-1, -1};
}

bool fits_hardware_dge(const InstView& v, const Arch& arch) {
  if (v.inst().opcode == Opcode::dma_copy) return v.dtype(args::dma_copy::dst) == v.dtype(args::dma_copy::src);
  if (v.inst().opcode != Opcode::dma_transpose) return false;
  const int src = args::dma_transpose::src, rank = v.rank(src);
  const std::int64_t rows = v.dim(src, 0);
  const bool power = rows >= 1 && rows <= 16 && (rows & (rows - 1)) == 0;
  const bool shape = rank == 2 ? rows == 16 : power && rows * v.dim(src, rank - 2) % 16 == 0;
  return size_bytes(v.dtype(src)) == 2 && shape && v.dim(src, rank - 1) <= arch.partitions;
}

}  // namespace kiln::isa
