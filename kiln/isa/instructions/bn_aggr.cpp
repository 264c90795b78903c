#include <fmt/format.h>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::bn_aggr {
namespace {
using namespace args::bn_aggr;

constexpr Rule kTriples{1, "data holds whole triples: a multiple of 3 elements per partition",
                        "pass the (P, 6) tiles of bn_stats side by side"};
constexpr Rule kDstShape{2, "dst has the partitions of data and 2 elements in each", "allocate dst as (P, 2)"};
constexpr Rule kCounts{3, "the counts of a partition do not add up to 0; mean and variance would be NaN",
                       "pass triples that bn_stats made, or slice off the partitions that hold none",
                       Mark::undocumented};

constexpr Rule kRules[] = {kTriples, kDstShape, kCounts};

void check(Check& c) {
  c.require(kTriples, c.free_size(data) % 3 == 0, data);
  c.require(kDstShape, c.partitions(dst) == c.partitions(data) && c.free_size(dst) == 2, [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
}

void run(Run& r) {
  const Tile& x = r.tile(data);
  std::vector<float> scratch(x.free_size);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* v = load_row(r, x, row, 0, scratch.size(), scratch.data());
    double count = 0, sum = 0, squares = 0;
    for (std::int64_t i = 0; i < x.free_size; i += 3) {
      count += v[i];
      sum += double{v[i]} * v[i + 1];
    }
    if (count == 0) r.warn(kCounts, fmt::format("the counts of partition {} add up to 0", row));
    const double mean = sum / count;
    for (std::int64_t i = 0; i < x.free_size; i += 3)
      squares += v[i + 2] + v[i] * (v[i + 1] - mean) * (v[i + 1] - mean);
    const float out[2] = {static_cast<float>(mean), static_cast<float>(squares / count)};
    store_row(r, r.tile(dst), row, 0, 2, out);
  }
}

Cost cost(const CostQuery& q) {
  constexpr double kCyclesPerTriple = 13;
  return {.cycles = q.stream(kCyclesPerTriple * static_cast<double>(q.free_size(data)) / 3)};
}

// The mean does not depend on the sums of squares, the variance on everything.
void track(Track& t) {
  if (t.is_clean(data)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(data);
  const std::int64_t columns = t.free_size(data);
  std::vector<Shadow> out(t.partitions(data) * 2);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(in.size()); ++i) {
    Shadow *mean = &out[i / columns * 2], *variance = mean + 1;
    if (*mean == 0 && i % columns % 3 != 2) *mean = in[i];
    if (*variance == 0) *variance = in[i];
  }
  t.write(dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "Triples (n, m, M2): N = sum n, mean = sum n m / N, variance = sum(M2 + n (m - mean)^2) / N; dst[p] = [mean, "
        "variance], computed in double and rounded once to float32, then cvt.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, 13 N / 3)",
};

}  // namespace kiln::isa::instruction::bn_aggr
