#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nc_stream_shuffle {
namespace {
using namespace args::nc_stream_shuffle;

constexpr std::int64_t kQuadrant = kQuadrantPartitions, kKeep = 255;

constexpr Rule kMaskSize{1, "shuffle_mask has 32 entries", "name a source partition for each of the 32, or 255"};
constexpr Rule kMaskEntries{2, "an entry of shuffle_mask is 0 to 31, or 255, which leaves the partition as it is",
                            "partitions move within their group of 32 only"};
constexpr Rule kDstDtype{3, "dst has the dtype of src", "convert with tensor_copy, or reinterpret with .view()"};
constexpr Rule kSameFreeSize{4, "dst and src have the same number of free elements", "slice them to one free size"};
constexpr Rule kStartPartition{5,
                               "the larger operand rounded up to 32 partitions decides where both start: 96 or 128 at "
                               "partition 0, 64 at 0 or 64, 32 at 0, 32, 64 or 96",
                               "move the start of the slice, or shuffle fewer partitions"};
constexpr Rule kMaskInsideSrc{6, "shuffle_mask points at partitions that src has",
                              "widen src, or put 255 where nothing is to be moved", Mark::undocumented};

constexpr Rule kRules[] = {kMaskSize, kMaskEntries, kDstDtype, kSameFreeSize, kStartPartition, kMaskInsideSrc};

// The row of src that row i of dst receives, or -1 when it keeps what it has.
std::int64_t source_row(std::span<const std::int64_t> mask, std::int64_t i) {
  const std::int64_t from = mask[i % kQuadrant];
  return from == kKeep ? -1 : i / kQuadrant * kQuadrant + from;
}

void check(Check& c) {
  const auto mask = c.integers(shuffle_mask);
  const std::int64_t rows = std::max(c.partitions(src), c.partitions(dst));
  const std::int64_t active = (rows + kQuadrant - 1) / kQuadrant * kQuadrant;
  const std::int64_t unit = active > 64 ? c.arch().partitions : active;
  c.require(kMaskSize, mask.size() == kQuadrant, [&] { return fmt::format("{} entries", mask.size()); });
  const auto bad = std::find_if(mask.begin(), mask.end(), [](auto m) { return m != kKeep && (m < 0 || m > 31); });
  c.require(kMaskEntries, bad == mask.end(), [&] { return fmt::format("entry {} is {}", bad - mask.begin(), *bad); });
  c.require(kDstDtype, c.dtype(dst) == c.dtype(src),
            [&] { return fmt::format("{} into {}", name(c.dtype(src)), name(c.dtype(dst))); });
  c.require(kSameFreeSize, c.free_size(dst) == c.free_size(src),
            [&] { return fmt::format("dst has {} free elements, src has {}", c.free_size(dst), c.free_size(src)); });
  for (int param : {int{src}, int{dst}}) {
    c.require(kStartPartition, starts_at_multiple(c.program(), c.access(param), unit), [&] {
      return fmt::format(
          "{} active partitions, {} from partition {}", active, c.describe(param),
          c.access(param).partition.constant + (c.tensor(param).address ? c.tensor(param).address->partition : 0));
    });
  }
  if (mask.size() != kQuadrant || bad != mask.end()) return;
  for (std::int64_t i = 0; i < c.partitions(dst); ++i) {
    const std::int64_t from = source_row(mask, i);
    if (from < c.partitions(src)) continue;
    return c.require(kMaskInsideSrc, false, [&] {
      return fmt::format("partition {} of dst receives partition {} of src, which has {}", i, from, c.partitions(src));
    });
  }
}

// The same for rows without gaps.
void move_rows(const Run& r, const Tile& d, const Tile& x) {
  const std::int64_t bytes = x.free_size * x.element_bytes();
  std::vector<std::byte> all(x.rows * bytes);
  for (std::int64_t row = 0; row < x.rows; ++row) std::memcpy(all.data() + row * bytes, x.row(row), bytes);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    const std::int64_t from = source_row(r.integers(shuffle_mask), row);
    if (from >= 0) std::memcpy(d.row(row), all.data() + from * bytes, bytes);
  }
}

// All reads come before the writes: dst may be src.
void run(Run& r) {
  const Tile &d = r.tile(dst), &x = r.tile(src);
  const auto mask = r.integers(shuffle_mask);
  const std::int64_t columns = x.free_size;
  if (d.row_is_contiguous() && x.row_is_contiguous()) return move_rows(r, d, x);
  std::vector<std::uint32_t> all(x.rows * columns);
  for (std::int64_t row = 0; row < x.rows; ++row) load_row_bits(r, x, row, 0, columns, all.data() + row * columns);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    const std::int64_t from = source_row(mask, row);
    if (from >= 0) store_row_bits(r, d, row, 0, columns, all.data() + from * columns);
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(dst)))}; }

void track(Track& t) {
  const auto mask = t.integers(shuffle_mask);
  const std::int64_t columns = t.free_size(dst);
  if (std::ranges::find(mask, kKeep) == mask.end() && t.is_clean(src)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(src);
  std::vector<Shadow> out(t.partitions(dst) * columns);
  std::vector<std::uint8_t> written(out.size());
  for (std::int64_t row = 0; row < t.partitions(dst); ++row) {
    const std::int64_t from = source_row(mask, row);
    if (from < 0) continue;
    std::copy_n(in.begin() + from * columns, columns, out.begin() + row * columns);
    std::fill_n(written.begin() + row * columns, columns, std::uint8_t{1});
  }
  t.write_where(dst, out, written);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "For each group q of 32 partitions: dst[32q + i] = src[32q + shuffle_mask[i]], bit for bit; where "
        "shuffle_mask[i] is 255, partition 32q + i of dst is left alone. All reads come before the writes.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N)",
    .facts = {.reads_first = [](const InstView&) { return true; }},
};

}  // namespace kiln::isa::instruction::nc_stream_shuffle
