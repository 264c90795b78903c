#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::topk {
namespace {
using namespace args::topk;

constexpr std::int64_t kGroup = 16;  // partitions of one gpsimd core

constexpr Rule kSrcPartitions{1, "src has a multiple of 16 partitions", "pad the partition dimension of src"};
constexpr Rule kSearchedCount{2, "n is at least 8 and below 65536", "search in several pieces and merge them"};
constexpr Rule kSrcSize{3, "src has at least ceil(n / 16) free elements", "pass a smaller n, or a wider src"};
constexpr Rule kValDstSize{4, "val_dst has at least 1 and fewer than 32768 free elements, and at most n",
                           "ask for fewer values"};
constexpr Rule kDstShapes{5, "val_dst and idx_dst have the same shape, and the partitions of src",
                          "allocate both as (partitions of src, K)"};
constexpr Rule kNoNan{6, "src has no NaN among the n elements",
                      "replace NaN first, e.g. with tensor_scalar and maximum", Mark::undocumented};
constexpr Rule kGeneration{7, "topk is promised for no generation in particular; gen2 may lack it",
                           "target trn2 or trn3", Mark::undocumented};

constexpr Rule kRules[] = {kSrcPartitions, kSearchedCount, kSrcSize, kValDstSize, kDstShapes, kNoNan, kGeneration};

void check(Check& c) {
  const std::int64_t count = c.integer(n), k = c.free_size(val_dst);
  c.require(kSrcPartitions, c.partitions(src) % kGroup == 0, src);
  c.require(kSearchedCount, count >= 8 && count < 65536, n, [&] { return fmt::format("n is {}", count); });
  c.require(kSrcSize, c.free_size(src) >= (count + kGroup - 1) / kGroup,
            [&] { return fmt::format("n is {}, {}", count, c.describe(src)); });
  c.require(kValDstSize, k >= 1 && k < 32768 && k <= count,
            [&] { return fmt::format("n is {}, {}", count, c.describe(val_dst)); });
  c.require(kDstShapes, c.same_shape(val_dst, idx_dst) && c.partitions(val_dst) == c.partitions(src), [&] {
    return fmt::format("val_dst is {}, idx_dst is {}, src is {}", shape_text(c.access(val_dst)),
                       shape_text(c.access(idx_dst)), shape_text(c.access(src)));
  });
  c.advise(kGeneration, c.arch().generation > 2, [&] { return "the target is gen2"; });
}

// The first n elements of a group, column by column: S[i] = src[group + i mod 16, i div 16].
template <class T, class Load>
std::vector<T> snake(std::int64_t group, std::int64_t count, std::int64_t columns, Load&& load_row) {
  const std::int64_t width = std::min(columns, (count + kGroup - 1) / kGroup);
  std::vector<T> row(width), out(count);
  for (std::int64_t p = 0; p < kGroup; ++p) {
    load_row(group + p, width, row.data());
    for (std::int64_t i = p; i < count; i += kGroup) out[i] = row[i / kGroup];
  }
  return out;
}

// Positions of the k largest values, ascending; of equal values the first ones, in their order.
std::vector<std::uint32_t> largest(const std::vector<float>& s, std::int64_t k) {
  std::vector<std::uint32_t> order(s.size());
  std::iota(order.begin(), order.end(), 0u);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](auto a, auto b) { return s[a] != s[b] ? s[a] > s[b] : a < b; });
  order.resize(k);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return s[a] != s[b] ? s[a] < s[b] : a < b; });
  return order;
}

void run(Run& r) {
  const Tile &values = r.tile(val_dst), &positions = r.tile(idx_dst), &x = r.tile(src);
  std::vector<std::uint32_t> bits(values.free_size);
  for (std::int64_t group = 0; group < x.rows; group += kGroup) {
    const auto raw = snake<std::uint32_t>(
        group, r.integer(n), x.free_size,
        [&](std::int64_t row, std::int64_t m, std::uint32_t* out) { load_row_bits(r, x, row, 0, m, out); });
    std::vector<float> s(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
      s[i] = to_float(x.dtype, raw[i]);
      if (!std::isnan(s[i])) continue;
      if (r.inputs_written)
        r.fail(kNoNan, fmt::format("src has a NaN in partition {}, column {}", group + i % kGroup, i / kGroup));
      s[i] = 0;  // garbage: any value that sorts
    }
    const std::vector<std::uint32_t> order = largest(s, values.free_size);
    for (std::size_t j = 0; j < order.size(); ++j) bits[j] = raw[order[j]];
    for (std::int64_t p = group; p < group + kGroup; ++p) {
      store_row_bits(r, values, p, 0, bits.size(), bits.data());
      store_row_bits(r, positions, p, 0, order.size(), order.data());
    }
  }
}

Cost cost(const CostQuery& q) {
  return {.cycles = q.stream(4.0 * static_cast<double>(q.integer(n)) + static_cast<double>(q.free_size(val_dst)))};
}

// Every result of a group depends on all of its n elements.
void track(Track& t) {
  if (t.is_clean(src)) return track_none(t);
  const std::vector<Shadow> in = t.read(src);
  const std::int64_t columns = t.free_size(src), k = t.free_size(val_dst);
  std::vector<Shadow> out(t.partitions(val_dst) * k);
  for (std::int64_t group = 0; group < t.partitions(src); group += kGroup) {
    const auto s = snake<Shadow>(group, t.integer(n), columns, [&](std::int64_t row, std::int64_t m, Shadow* to) {
      std::copy_n(in.begin() + row * columns, m, to);
    });
    const auto first = std::find_if(s.begin(), s.end(), [](Shadow x) { return x != 0; });
    std::fill_n(out.begin() + group * k, kGroup * k, first == s.end() ? Shadow{0} : *first);
  }
  t.write(val_dst, out);
  t.write(idx_dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "For each group g of 16 partitions: S[i] = src[16g + i mod 16, i div 16], i < n. The K largest of S, K = free "
        "size of val_dst, go in ascending order to val_dst and their i to idx_dst, the same in every partition of the "
        "group. Of equal values those with the lowest i are kept, in ascending i.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "150 + 4n + K",
};

}  // namespace kiln::isa::instruction::topk
