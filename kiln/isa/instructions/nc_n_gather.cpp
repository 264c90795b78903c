#include <fmt/format.h>

#include <cmath>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nc_n_gather {
namespace {
using namespace args::nc_n_gather;

constexpr Rule kSamePartitions{1, "dst, data and indices have the same number of partitions",
                               "slice them to one partition count"};
constexpr Rule kSameFreeSize{2, "dst and indices have the same number of free elements",
                             "allocate dst with the shape of indices"};
constexpr Rule kDstDtype{3, "dst has the dtype of data", "convert with tensor_copy before or after"};
constexpr Rule kIndexInside{4, "an index is below the free size of data", "check the index values"};

constexpr Rule kRules[] = {kSamePartitions, kSameFreeSize, kDstDtype, kIndexInside};

void check(Check& c) {
  c.require(kSamePartitions, c.partitions(dst) == c.partitions(data) && c.partitions(dst) == c.partitions(indices),
            [&] {
              return fmt::format("dst has {} partitions, data {}, indices {}", c.partitions(dst), c.partitions(data),
                                 c.partitions(indices));
            });
  c.require(kSameFreeSize, c.free_size(dst) == c.free_size(indices), [&] {
    return fmt::format("dst has {} free elements, indices {}", c.free_size(dst), c.free_size(indices));
  });
  c.require(kDstDtype, c.dtype(dst) == c.dtype(data),
            [&] { return fmt::format("{} into {}", name(c.dtype(data)), name(c.dtype(dst))); });
}

// Words that lie together, by words that lie together, to words that lie elsewhere: false for others, and where an
// index leads outside.
bool run_words(Run& r) {
  const Tile &d = r.tile(dst), &x = r.tile(data), &at = r.tile(indices);
  const auto lies_together = [](const Tile& t) {
    return t.element_bytes() == 4 && t.row_is_contiguous() && !t.row_offset;
  };
  if (!lies_together(d) || !lies_together(x) || !lies_together(at)) return false;
  const auto apart = [&](const Tile& t) {
    const std::int64_t row = d.free_size * 4, other = t.free_size * 4;
    return d.row(d.rows - 1) + row <= t.row(0) || t.row(t.rows - 1) + other <= d.row(0);
  };
  if (d.row_bytes < 0 || x.row_bytes < 0 || at.row_bytes < 0 || !apart(x) || !apart(at)) return false;
  const auto size = static_cast<std::uint32_t>(x.free_size);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    const auto* index = reinterpret_cast<const std::uint32_t*>(at.row(row));
    const auto* in = reinterpret_cast<const std::uint32_t*>(x.row(row));
    auto* out = reinterpret_cast<std::uint32_t*>(d.row(row));
    for (std::int64_t j = 0; j < d.free_size; ++j) {
      const std::uint32_t from = index[j];
      if (from >= size) return false;
      out[j] = in[from];
    }
  }
  return true;
}

void run(Run& r) {
  if (run_words(r)) return;
  const Tile &d = r.tile(dst), &x = r.tile(data), &at = r.tile(indices);
  // Words that lie together are read where they lie: most of a long row is not asked for.
  const bool lies_together = x.element_bytes() == 4 && x.row_is_contiguous() && !x.row_offset;
  const auto size = static_cast<std::uint32_t>(x.free_size);
  std::vector<std::uint32_t> copy(lies_together ? 0 : x.free_size), index(at.free_size);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    if (!lies_together) load_row_bits(r, x, row, 0, copy.size(), copy.data());
    const std::uint32_t* in = lies_together ? reinterpret_cast<const std::uint32_t*>(x.row(row)) : copy.data();
    load_row_bits(r, at, row, 0, index.size(), index.data());
    for (std::size_t j = 0; j < index.size(); ++j) {
      if (index[j] >= size)
        r.fail(kIndexInside,
               fmt::format("index {} in row {}, position {}; data has {} free elements", index[j], row, j, size));
      index[j] = in[index[j]];
    }
    store_row_bits(r, d, row, 0, index.size(), index.data());
  }
}

// One instruction for 512 indices, each with its start; stream() has one start in it.
Cost cost(const CostQuery& q) {
  const double n = static_cast<double>(q.free_size(dst));
  return {.cycles = q.stream(n + (std::ceil(n / 512) - 1) * q.spec().start_cycles)};
}

// dst[p, j] comes from data[p, indices[p, j]].
void track(Track& t) {
  if (t.is_clean(data)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(data);
  const std::vector<std::uint32_t> at = t.bits(indices);
  const std::int64_t columns = t.free_size(dst), in_columns = t.free_size(data);
  std::vector<Shadow> out(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < in_columns) out[i] = in[static_cast<std::int64_t>(i) / columns * in_columns + at[i]];
  }
  t.write(dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst[p, j] = data[p, indices[p, j]], free dimensions flattened, bit for bit.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "150 ceil(N / 512) + N (not documented)",
};

}  // namespace kiln::isa::instruction::nc_n_gather
