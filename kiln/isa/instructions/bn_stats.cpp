#include <fmt/format.h>

#include <array>
#include <vector>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::bn_stats {
namespace {
using namespace args::bn_stats;

constexpr std::int64_t kResults = 6;

constexpr Rule kDataSize{1, "data has at most 512 elements per partition",
                         "split data into pieces of 512, and combine their triples with bn_aggr"};
constexpr Rule kDstShape{2, "dst has the partitions of data and 6 elements in each", "allocate dst as (P, 6)"};

constexpr Rule kRules[] = {kDataSize, kDstShape};

void check(Check& c) {
  c.require(kDataSize, c.free_size(data) <= c.arch().bn_stats_elements, data);
  c.require(kDstShape, c.partitions(dst) == c.partitions(data) && c.free_size(dst) == kResults, [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
}

// Sums of term(x, 0) over the even and of term(x, 1) over the odd elements, in ascending order.
template <class Term>
std::array<double, 2> even_and_odd(const float* x, std::int64_t n, Term&& term) {
  double even = 0, odd = 0;
  for (std::int64_t i = 0; i + 1 < n; i += 2) {
    even += term(x[i], 0);
    odd += term(x[i + 1], 1);
  }
  if (n % 2) even += term(x[n - 1], 0);
  return {even, odd};
}

// Both triples, in double. Without odd elements theirs is three zeros.
void statistics(const float* x, std::int64_t n, float* out) {
  const std::int64_t count[2] = {(n + 1) / 2, n / 2};
  auto mean = even_and_odd(x, n, [](double v, int) { return v; });
  for (int k : {0, 1}) mean[k] = count[k] ? mean[k] / static_cast<double>(count[k]) : 0;
  const auto squares = even_and_odd(x, n, [&](double v, int k) { return (v - mean[k]) * (v - mean[k]); });
  for (int k : {0, 1}) {
    out[3 * k] = static_cast<float>(count[k]);
    out[3 * k + 1] = static_cast<float>(mean[k]);
    out[3 * k + 2] = static_cast<float>(squares[k]);
  }
}

void run(Run& r) {
  const Tile& x = r.tile(data);
  std::vector<float> scratch(x.free_size);
  float out[kResults];
  for (std::int64_t row = 0; row < x.rows; ++row) {
    statistics(load_row(r, x, row, 0, x.free_size, scratch.data()), x.free_size, out);
    store_row(r, r.tile(dst), row, 0, kResults, out);
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(data)))}; }

// The counts depend on no value; even and odd elements do not mix.
void track(Track& t) {
  if (t.is_clean(data)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(data);
  const std::int64_t columns = t.free_size(data);
  std::vector<Shadow> out(t.partitions(data) * kResults);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(in.size()); ++i) {
    Shadow* mean = &out[i / columns * kResults + (i % columns % 2 ? 4 : 1)];
    if (*mean == 0) mean[0] = mean[1] = in[i];
  }
  t.write(dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p] = [n, mean, M2] of the elements with even index, then of those with odd index; M2 = sum of (x - "
        "mean)^2. Two passes in double, each result rounded once to float32, then cvt. No odd element: 0, 0, 0.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N)",
};

}  // namespace kiln::isa::instruction::bn_stats
