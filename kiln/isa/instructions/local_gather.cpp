#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::local_gather {
namespace {
using namespace args::local_gather;

constexpr std::int64_t kGroup = 16;  // partitions of one gpsimd core, which share their indices

constexpr Rule kSamePartitions{1, "dst, src_buffer and index have the same number of partitions, a multiple of 16",
                               "pad the partition dimension to a multiple of 16"};
constexpr Rule kDstDtype{2, "dst has the dtype of src_buffer", "convert with tensor_copy before or after"};
constexpr Rule kElementsPerIndex{3, "num_elem_per_idx is 1, 2, 4, 8, 16 or 32",
                                 "gather in pieces of one of these lengths"};
constexpr Rule kIndexCount{4, "16 partitions hold at most 4096 indices", "split the gather"};
constexpr Rule kValidIndices{5, "num_valid_indices is at least 1 and at most 16 times the free size of index",
                             "pass a wider index tile"};
constexpr Rule kDstSize{
    6, "dst has num_valid_indices * num_elem_per_idx free elements; otherwise the device ignores num_elem_per_idx",
    "pass both numbers and size dst by their product"};
constexpr Rule kIndexInside{7, "an index plus num_elem_per_idx is at most the free size of src_buffer",
                            "check the index values"};

constexpr Rule kRules[] = {kSamePartitions, kDstDtype, kElementsPerIndex, kIndexCount,
                           kValidIndices,   kDstSize,  kIndexInside};

// Indices of 16 partitions, and how many of them count.
std::int64_t index_count(const InstView& v) { return v.free_size(index) * kGroup; }
std::int64_t valid_count(const InstView& v) {
  return v.has(num_valid_indices) ? v.integer(num_valid_indices) : index_count(v);
}

void check(Check& c) {
  const std::int64_t rows = c.partitions(src_buffer), each = c.integer(num_elem_per_idx), valid = valid_count(c);
  c.require(kSamePartitions, rows % kGroup == 0 && c.partitions(index) == rows && c.partitions(dst) == rows, [&] {
    return fmt::format("dst has {} partitions, src_buffer {}, index {}", c.partitions(dst), rows, c.partitions(index));
  });
  c.require(kDstDtype, c.dtype(dst) == c.dtype(src_buffer),
            [&] { return fmt::format("{} into {}", name(c.dtype(src_buffer)), name(c.dtype(dst))); });
  c.require(kElementsPerIndex, each >= 1 && each <= 32 && std::has_single_bit(static_cast<std::uint64_t>(each)),
            num_elem_per_idx, [&] { return fmt::format("num_elem_per_idx is {}", each); });
  c.require(kIndexCount, index_count(c) <= 4096,
            [&] { return fmt::format("{}: {} indices", c.describe(index), index_count(c)); });
  c.require(kValidIndices, valid >= 1 && valid <= index_count(c), num_valid_indices,
            [&] { return fmt::format("num_valid_indices is {}, 16 partitions hold {}", valid, index_count(c)); });
  // Without the division a huge number of valid indices could overflow the product.
  c.require(kDstSize, each != 0 && c.free_size(dst) % each == 0 && c.free_size(dst) / each == valid, dst, [&] {
    return fmt::format("dst has {} free elements for {} indices of {} elements", c.free_size(dst), valid, each);
  });
}

void run(Run& r) {
  const Tile &d = r.tile(dst), &x = r.tile(src_buffer), &at = r.tile(index);
  const std::int64_t each = r.integer(num_elem_per_idx), valid = valid_count(r);
  std::vector<std::uint32_t> indices(at.free_size * kGroup), row(at.free_size), in(x.free_size), out(d.free_size);
  for (std::int64_t group = 0; group < d.rows; group += kGroup) {
    for (std::int64_t p = 0; p < kGroup; ++p) {
      load_row_bits(r, at, group + p, 0, row.size(), row.data());
      for (std::size_t c = 0; c < row.size(); ++c) indices[c * kGroup + p] = row[c];
    }
    for (std::int64_t j = 0; j < valid; ++j) {
      if (indices[j] + each > x.free_size)
        r.fail(kIndexInside,
               fmt::format("index {} in partition {}, column {}: {} elements from there leave the {} of src_buffer",
                           indices[j], group + j % kGroup, j / kGroup, each, x.free_size));
    }
    for (std::int64_t p = group; p < group + kGroup; ++p) {
      load_row_bits(r, x, p, 0, in.size(), in.data());
      for (std::int64_t j = 0; j < valid; ++j) std::copy_n(in.data() + indices[j], each, out.data() + j * each);
      store_row_bits(r, d, p, 0, out.size(), out.data());
    }
  }
}

// The manual's formula for the time of one element has the overhead the wrong way up; this is what it must
// mean.
Cost cost(const CostQuery& q) {
  constexpr double kOverhead = 28, kThreads = 4;
  const double each = static_cast<double>(q.integer(num_elem_per_idx));
  const double together = std::min(4.0 / size_bytes(q.dtype(dst)), each);
  const double per_element = (kOverhead + kThreads * each) / (kThreads * each) / together;
  return {.cycles = q.stream(static_cast<double>(valid_count(q)) * each * per_element)};
}

// dst[p, j E + e] comes from src_buffer[p, I[j] + e]; which one, only the indices know.
void track(Track& t) {
  t.check_offsets(index, kGroup, valid_count(t));
  if (t.is_clean(src_buffer)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(src_buffer);
  const std::vector<std::uint32_t> at = t.bits(index);
  const std::int64_t columns = t.free_size(dst), in_columns = t.free_size(src_buffer);
  const std::int64_t each = t.integer(num_elem_per_idx);
  std::vector<Shadow> out(t.partitions(dst) * columns);
  for (std::int64_t p = 0; p < t.partitions(dst); ++p) {
    for (std::int64_t f = 0; f < columns; ++f) {
      const std::int64_t j = f / each, holder = p / kGroup * kGroup + j % kGroup;
      const std::int64_t from = at[holder * t.free_size(index) + j / kGroup] + f % each;
      if (from < in_columns) out[p * columns + f] = in[p * in_columns + from];
    }
  }
  t.write(dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "For each group of 16 partitions starting at g: I[j] = index[g + j mod 16, j div 16], j < num_valid_indices; "
        "for every partition p of the group and e < E = num_elem_per_idx: dst[p, j E + e] = src_buffer[p, I[j] + e], "
        "free dimensions flattened. Indices count elements.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text =
        "150 + num_valid_indices * E * C, C = (28 + 4E) / (4E) / min(4 / element bytes, E); printed as a division by C "
        "in the manual",
};

}  // namespace kiln::isa::instruction::local_gather
