#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::sequence_bounds {
namespace {
using namespace args::sequence_bounds;

constexpr Rule kOnePartition{1, "segment_ids has one partition", "pass the ids as (1, n)"};
constexpr Rule kDstShape{2, "dst is (1, 2, n): the first indices, then the ends, for n segment ids",
                         "allocate dst as (1, 2, n)"};
constexpr Rule kNotNegative{3, "segment ids are integers that are not negative",
                            "number the segments from 1 on; 0 is padding"};

constexpr Rule kRules[] = {kOnePartition, kDstShape, kNotNegative};

void check(Check& c) {
  c.require(kOnePartition, c.partitions(segment_ids) == 1, segment_ids);
  c.require(
      kDstShape,
      c.rank(dst) == 3 && c.partitions(dst) == 1 && c.dim(dst, 1) == 2 && c.dim(dst, 2) == c.free_size(segment_ids),
      [&] {
        return fmt::format("dst is {}, segment_ids is {}", shape_text(c.access(dst)),
                           shape_text(c.access(segment_ids)));
      });
}

// Double holds int32 and float32 exactly.
std::vector<double> read_ids(const Run& r) {
  const Tile& t = r.tile(segment_ids);
  std::vector<std::uint32_t> bits(t.free_size);
  load_row_bits(r, t, 0, 0, bits.size(), bits.data());
  std::vector<double> ids(bits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (t.dtype == DType::int32) {
      ids[i] = std::bit_cast<std::int32_t>(bits[i]);
    } else {
      ids[i] = std::bit_cast<float>(bits[i]);
    }
  }
  return ids;
}

bool is_segment_id(double id) { return id >= 0 && std::isfinite(id) && std::trunc(id) == id; }

void run(Run& r) {
  const std::vector<double> ids = read_ids(r);
  const std::size_t n = ids.size();
  std::vector<float> bounds(2 * n);
  for (std::size_t first = 0, end; first < n; first = end) {
    if (!is_segment_id(ids[first]) && r.inputs_written)
      r.fail(kNotNegative, fmt::format("segment id {} at position {}", ids[first], first));
    for (end = first + 1; end < n && ids[end] == ids[first];) ++end;
    const bool padding = ids[first] == 0;
    for (std::size_t i = first; i < end; ++i) {
      bounds[i] = static_cast<float>(padding ? n : first);
      bounds[n + i] = padding ? -1.0f : static_cast<float>(end);
    }
  }
  store_row(r, r.tile(dst), 0, 0, 2 * n, bounds.data());
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(segment_ids)))}; }

// A run begins at or before its element and ends after it: first indices depend on the ids up to there, ends
// on the ids from there on.
void track(Track& t) {
  if (t.is_clean(segment_ids)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(segment_ids);
  const std::size_t n = in.size();
  std::vector<Shadow> out(in);
  out.insert(out.end(), in.begin(), in.end());
  for (std::size_t i = 1; i < n; ++i) {
    if (out[i] == 0) out[i] = out[i - 1];
    if (Shadow& end = out[2 * n - 1 - i]; end == 0) end = out[2 * n - i];
  }
  t.write(dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "For each maximal run of equal neighbouring ids that are not 0: dst[0, 0, i] = index of its first element, "
        "dst[0, 1, i] = index of its last element + 1. Id 0 is padding: n and -1.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "150 + n (not documented)",
};

}  // namespace kiln::isa::instruction::sequence_bounds
