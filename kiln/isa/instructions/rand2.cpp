#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::rand2 {
namespace {
using namespace args::rand2;

constexpr int kStates = 4;  // the vector engine draws four values per partition and cycle

constexpr Rule kBoundColumns{1, "min and max are numbers, or tiles with one value per partition",
                             "slice the tile to (P, 1)"};
constexpr Rule kMinBelowMax{2, "min is below max", "swap the bounds, or use memset for a constant"};
constexpr Rule kFiniteRange{3, "max - min is finite in float32", "draw from a smaller range and scale the result",
                            Mark::undocumented};

constexpr Rule kRules[] = {kBoundColumns, kMinBelowMax, kFiniteRange};

void check(Check& c) {
  for (int bound : {int{min}, int{max}}) {
    if (c.is_tile(bound)) c.require(kBoundColumns, c.is_column(bound, c.partitions(dst)), bound);
  }
  if (c.is_tile(min) || c.is_tile(max)) return;
  const float low = static_cast<float>(c.real(min)), high = static_cast<float>(c.real(max));
  const auto found = [&] { return fmt::format("min is {}, max is {}", low, high); };
  c.require(kMinBelowMax, low < high, found);
  c.require(kFiniteRange, !(low < high) || std::isfinite(high - low), found);
}

unsigned state(const InstView&) { return kVectorRandom; }

void run(Run& r) {
  const Tile& d = r.tile(dst);
  std::vector<float> out(d.free_size);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    const float low = r.column(min, row), high = r.column(max, row), width = high - low;
    if (r.inputs_written && !(low < high))
      r.fail(kMinBelowMax, fmt::format("min is {}, max is {} in row {}", low, high, row));
    if (r.inputs_written && !std::isfinite(width))
      r.fail(kFiniteRange, fmt::format("min is {}, max is {} in row {}", low, high, row));
    auto& random = r.state().vector_random[d.lane + row];
    for (std::size_t f = 0; f < out.size(); ++f) {
      const float u = static_cast<float>(random[f % kStates].next()) * 0x1p-32f;
      out[f] = std::min(low + width * u, high);  // rounding must not lead past max
    }
    store_row(r, d, row, 0, out.size(), out.data());
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(dst)), kStates)}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p, f] = cvt(minimum(min + (max - min) * u, max)) in float32, u = float32(bits) * 2^-32, bits = the next "
        "32 bits of state f mod 4 of partition p's vector engine generator (xorwow). How the device makes u from the "
        "bits is not documented.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_elementwise,
    .cost_text = "max(64, N / 4)",
    .state = state,
};

}  // namespace kiln::isa::instruction::rand2
