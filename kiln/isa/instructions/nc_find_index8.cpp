#include <fmt/format.h>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/instructions/shared/search8.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nc_find_index8 {
namespace {
using namespace args::nc_find_index8;

constexpr Rule kSearchSize{1, "data has 8 to 16384 elements per partition",
                           "pad short rows with a value that is not searched; split long ones"};
constexpr Rule kSearchRank{2, words::kSearchRank};
constexpr Rule kValsShape{3, words::kValsShape};
constexpr Rule kDstShape{4, "dst is (P, 8) with the partitions of data", "allocate dst as (P, 8)"};

constexpr Rule kRules[] = {kSearchSize, kSearchRank, kValsShape, kDstShape};

void check(Check& c) {
  c.require(kSearchSize, has_search_size(c, data), data);
  for (int param : {data, vals}) c.require(kSearchRank, c.rank(param) <= kMaxSearchRank, param);
  c.require(kValsShape, has_eight(c, vals, data), [&] {
    return fmt::format("vals is {}, data is {}", shape_text(c.access(vals)), shape_text(c.access(data)));
  });
  c.require(kDstShape, c.rank(dst) == 2 && has_eight(c, dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
}

void run(Run& r) {
  const Tile& x = r.tile(data);
  std::vector<float> scratch(x.free_size);
  float wanted_scratch[kSearched];
  std::uint32_t found[kSearched];
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* values = load_row(r, x, row, 0, scratch.size(), scratch.data());
    const float* wanted = load_row(r, r.tile(vals), row, 0, kSearched, wanted_scratch);
    find_eight(values, x.free_size, wanted, false, found);
    store_row_bits(r, r.tile(dst), row, 0, kSearched, found);
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(data)))}; }

// Position j depends on the whole row of data and on the values up to j: an earlier equal value takes a
// position.
void track(Track& t) {
  if (t.is_clean(data) && t.is_clean(vals)) return t.write_clean(dst);
  const std::vector<Shadow> x = t.read(data);
  std::vector<Shadow> out = t.read(vals);
  const std::int64_t columns = t.free_size(data);
  for (std::int64_t row = 0; row < t.partitions(data); ++row) {
    Shadow seen = 0;
    for (std::int64_t i = 0; i < columns && !seen; ++i) seen = x[row * columns + i];
    for (std::int64_t j = 0; j < kSearched; ++j) {
      Shadow& s = out[row * kSearched + j];
      if (!seen) seen = s;
      s = seen;
    }
  }
  t.write(dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "For j = 0 … 7: dst[p, j] = the smallest f with data[p, f] == vals[p, j], compared as float32, that no earlier "
        "j has taken; all ones when there is none. NaN equals nothing.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N)",
};

}  // namespace kiln::isa::instruction::nc_find_index8
