#include "kernels/sparse/row_buckets.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

namespace kiln::kernels {
namespace {

using Int = std::int64_t;

// What a slot element, a slot and a block take, in nanoseconds of the part that does it.
struct Costs {
  double dma_element, vector_slot, tensor_block, dma_block;
};

Costs costs_of(Int n, const Arch& a) {
  const double size = 4.0 * static_cast<double>(n), rate = a.dma.loaded_bytes_per_ns, engines = a.dma.engines;
  return {.dma_element = (a.dma.packet_ns + size / rate) / engines,
          .vector_slot = a.vector.interval_ns + static_cast<double>(n) / a.vector.clock_ghz,
          .tensor_block = std::max(static_cast<double>(n) * a.matmul_fp32_passes / a.tensor.clock_ghz, 200.0),
          .dma_block = kTile * kTile * 4.0 / rate / engines};
}

// Elements of a tile of a group of 128 rows, and the slots that they fill: one that has its slot to itself, since it
// lies in the longest row, fills all of it.
struct TileCount {
  Int group, tile, count;
  double slots;
};

// Of a group, the share of a slot that an element at each depth of its row fills.
std::vector<double> shares_of(const CsrPattern& m, Int first, Int last) {
  std::vector<double> active;
  for (Int r = first; r < last; ++r) {
    const auto length = static_cast<std::size_t>(m.row_start[r + 1] - m.row_start[r]);
    if (active.size() < length) active.resize(length, 0);
    for (std::size_t i = 0; i < length; ++i) ++active[i];
  }
  for (double& rows : active) rows = 1 / rows;
  return active;
}

std::vector<TileCount> count_tiles(const CsrPattern& m) {
  std::vector<TileCount> counts;
  std::vector<TileCount> in_group(tiles_of(std::max<Int>(1, m.columns), kTile));
  for (Int first = 0; first < m.rows; first += kTile) {
    const Int last = std::min(m.rows, first + kTile);
    const std::vector<double> shares = shares_of(m, first, last);
    for (std::size_t t = 0; t < in_group.size(); ++t) in_group[t] = {first / kTile, static_cast<Int>(t), 0, 0};
    for (Int r = first; r < last; ++r) {
      for (Int e = m.row_start[r]; e < m.row_start[r + 1]; ++e) {
        TileCount& tile = in_group[m.column[e] / kTile];
        ++tile.count;
        tile.slots += shares[e - m.row_start[r]];
      }
    }
    std::copy_if(in_group.begin(), in_group.end(), std::back_inserter(counts), [](auto& t) { return t.count > 0; });
  }
  return counts;
}

// Slots where rows of all groups are sorted together: those of every 128th row.
double least_slots(const CsrPattern& m) {
  std::vector<Int> lengths(m.rows);
  for (Int r = 0; r < m.rows; ++r) lengths[r] = m.row_start[r + 1] - m.row_start[r];
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  Int slots = 0;
  for (Int r = 0; r < m.rows; r += kTile) slots += lengths[r];
  return static_cast<double>(slots);
}

// How many of the tiles, the most expensive ones first, go to the tensor engine so that all engines are done soonest.
std::size_t best_split(const std::vector<TileCount>& tiles, const CsrPattern& m, const Costs& c) {
  double slots = 0;
  for (const TileCount& t : tiles) slots += t.slots;
  Int left = m.count();
  std::size_t best = 0;
  double least = 0;
  for (std::size_t t = 0; t <= tiles.size(); ++t) {
    const double dma = static_cast<double>(left) * c.dma_element + static_cast<double>(t) * c.dma_block;
    const double vector = (t == 0 ? least_slots(m) : slots) * c.vector_slot;
    const double time = std::max({dma, vector, static_cast<double>(t) * c.tensor_block});
    if (t == 0 || time < least) {
      best = t;
      least = time;
    }
    if (t == tiles.size()) break;
    left -= tiles[t].count;
    slots -= tiles[t].slots;
  }
  return best;
}

// Groups of rows with their order inside, by what is left for slots.
std::vector<std::vector<Int>> group_rows(const std::vector<Int>& lengths, bool anywhere, bool in_order) {
  const Int rows = static_cast<Int>(lengths.size());
  std::vector<Int> order(lengths.size());
  std::iota(order.begin(), order.end(), Int{0});
  const auto longer = [&](Int a, Int b) { return lengths[a] > lengths[b]; };
  if (anywhere) std::stable_sort(order.begin(), order.end(), longer);
  std::vector<std::vector<Int>> groups;
  for (Int r = 0; r < rows; r += kTile) {
    groups.emplace_back(order.begin() + r, order.begin() + std::min(rows, r + kTile));
    if (!anywhere && !in_order) std::stable_sort(groups.back().begin(), groups.back().end(), longer);
  }
  // Stores to rows anywhere wait for each other: those that are soon ready come first.
  if (anywhere) std::reverse(groups.begin(), groups.end());
  return groups;
}

// Whether rows that stay in their order cost less, as slots with nothing in them, than sums of each bucket that go to
// rows anywhere.
bool stays_in_order(const CsrPattern& m, const Arch& arch) {
  constexpr double kSlotBytes = kTile * 8.0;
  double slots = 0;
  for (Int first = 0; first < m.rows; first += kTile) {
    Int longest = 0;
    for (Int r = first; r < std::min(m.rows, first + kTile); ++r)
      longest = std::max(longest, m.row_start[r + 1] - m.row_start[r]);
    slots += static_cast<double>(longest);
  }
  const double slot = kSlotBytes / arch.dma.loaded_bytes_per_ns / arch.dma.engines;
  return (slots - least_slots(m)) * slot < static_cast<double>(tiles_of(m.rows, kTile)) * kScatterNs;
}

void add_runs(RowBuckets::Bucket& bucket, const std::vector<Int>& rows, const std::vector<Int>& lengths) {
  Int done = 0;
  for (Int active = bucket.rows; active > 0; --active) {
    const Int length = lengths[rows[active - 1]];
    if (length > done) bucket.runs.push_back({active, length - done});
    done = std::max(done, length);
  }
}

class Planner {
 public:
  Planner(const CsrPattern& m, Int n, const Arch& arch, BucketUse use) : m_(m) {
    if (use == BucketUse::mixed) choose_tiles(costs_of(n, arch));
    plan.buckets.in_order = use == BucketUse::vector && stays_in_order(m, arch);
    const std::vector<Int> lengths = slot_lengths();
    const auto groups = group_rows(lengths, chosen_.empty() && !plan.buckets.in_order, plan.buckets.in_order);
    for (const auto& rows : groups) add_bucket(rows, lengths);
    place(groups);
  }
  BucketPlan plan;

 private:
  Int tile_columns() const { return tiles_of(std::max<Int>(1, m_.columns), kTile); }

  void choose_tiles(const Costs& costs) {
    std::vector<TileCount> tiles = count_tiles(m_);
    const auto cost = [&](const TileCount& t) {
      return static_cast<double>(t.count) * costs.dma_element + t.slots * costs.vector_slot;
    };
    std::stable_sort(tiles.begin(), tiles.end(), [&](auto& a, auto& b) { return cost(a) > cost(b); });
    const std::size_t taken = best_split(tiles, m_, costs);
    if (taken == 0) return;
    chosen_.assign(tiles_of(m_.rows, kTile) * tile_columns(), false);
    for (std::size_t t = 0; t < taken; ++t) chosen_[tiles[t].group * tile_columns() + tiles[t].tile] = true;
  }

  bool in_block(Int row, Int e) const {
    return !chosen_.empty() && chosen_[row / kTile * tile_columns() + m_.column[e] / kTile];
  }

  std::vector<Int> slot_lengths() const {
    std::vector<Int> lengths(m_.rows, 0);
    for (Int r = 0; r < m_.rows; ++r) {
      for (Int e = m_.row_start[r]; e < m_.row_start[r + 1]; ++e) lengths[r] += !in_block(r, e);
    }
    return lengths;
  }

  void add_bucket(const std::vector<Int>& rows, const std::vector<Int>& lengths) {
    RowBuckets& all = plan.buckets;
    RowBuckets::Bucket bucket{.rows = static_cast<Int>(rows.size())};
    const bool is_run =
        std::adjacent_find(rows.begin(), rows.end(), [](Int a, Int b) { return b != a + 1; }) == rows.end();
    if (is_run) bucket.first_row = rows.front();
    if (all.in_order) {
      Int longest = 0;
      for (const Int row : rows) longest = std::max(longest, lengths[row]);
      if (longest > 0) bucket.runs.push_back({bucket.rows, longest});
    } else {
      add_runs(bucket, rows, lengths);
    }
    if (!chosen_.empty()) {
      const Int group = static_cast<Int>(all.buckets.size());
      for (Int t = 0; t < tile_columns(); ++t) {
        if (chosen_[group * tile_columns() + t]) bucket.tiles.push_back(t);
      }
    }
    all.slot_count += bucket.slots();
    all.tile_count += static_cast<Int>(bucket.tiles.size());
    all.buckets.push_back(std::move(bucket));
  }

  // Slots and blocks of all buckets are known: tells every element its place.
  void place(const std::vector<std::vector<Int>>& groups) {
    const Int buckets = static_cast<Int>(groups.size()), width = buckets + plan.buckets.slot_count;
    plan.indices.assign(kTile * width, 0);
    plan.slot.assign(m_.count(), -1);
    plan.in_block.assign(m_.count(), -1);
    Int first_slot = 0, first_tile = 0;
    std::vector<Int> tile_at(tile_columns(), -1);
    for (Int g = 0; g < buckets; ++g) {
      const RowBuckets::Bucket& bucket = plan.buckets.buckets[g];
      for (std::size_t t = 0; t < bucket.tiles.size(); ++t) tile_at[bucket.tiles[t]] = first_tile + static_cast<Int>(t);
      for (Int p = 0; p < bucket.rows; ++p) {
        const Int row = groups[g][p];
        plan.indices[p * width + g] = static_cast<std::int32_t>(row);
        Int s = first_slot;
        for (Int e = m_.row_start[row]; e < m_.row_start[row + 1]; ++e) {
          const Int c = m_.column[e];
          if (in_block(row, e)) {
            plan.in_block[e] = (c % kTile * plan.buckets.tile_count + tile_at[c / kTile]) * kTile + p;
          } else {
            plan.indices[p * width + buckets + s] = static_cast<std::int32_t>(c);
            plan.slot[e] = p * plan.buckets.slot_count + s++;
          }
        }
      }
      first_slot += bucket.slots();
      first_tile += static_cast<Int>(bucket.tiles.size());
    }
  }

  const CsrPattern& m_;
  std::vector<bool> chosen_;  // tiles of natural groups of rows; empty: none
};

}  // namespace

std::int64_t RowBuckets::Bucket::slots() const {
  return std::accumulate(runs.begin(), runs.end(), Int{0}, [](Int sum, const Run& r) { return sum + r.slots; });
}

std::vector<RowBuckets::Bucket::Window> RowBuckets::Bucket::windows(Int most) const {
  std::vector<Window> found;
  for (Run run : runs) {
    while (run.slots > 0) {
      if (found.empty() || found.back().slots == most)
        found.push_back({found.empty() ? 0 : found.back().first + most, 0, {}});
      Window& w = found.back();
      const Int some = std::min(run.slots, most - w.slots);
      w.runs.push_back({run.rows, some});
      w.slots += some;
      run.slots -= some;
    }
  }
  return found;
}

std::string key_of(const RowBuckets& b) {
  std::vector<Int> numbers{b.in_order};
  for (const RowBuckets::Bucket& bucket : b.buckets) {
    numbers.insert(numbers.end(), {bucket.rows, bucket.first_row, static_cast<Int>(bucket.runs.size())});
    for (const RowBuckets::Run& run : bucket.runs) numbers.insert(numbers.end(), {run.rows, run.slots});
    numbers.push_back(static_cast<Int>(bucket.tiles.size()));
    numbers.insert(numbers.end(), bucket.tiles.begin(), bucket.tiles.end());
  }
  return key_of(numbers);
}

BucketPlan plan_buckets(const CsrPattern& matrix, Int n, const Arch& arch, BucketUse use) {
  return Planner(matrix, n, arch, use).plan;
}

}  // namespace kiln::kernels
