#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kiln/isa/instructions/shared/search8.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::max8 {
namespace {
using namespace args::max8;

constexpr Rule kSearchSize{1, "src has 8 to 16384 elements per partition",
                           "pad short rows with the smallest value; split long ones and take max8 of the results"};
constexpr Rule kSearchRank{2, "src has at most 3 dimensions", "merge contiguous free dimensions"};
constexpr Rule kDstShape{3, "dst is (P, 8) with the partitions of src", "allocate dst as (P, 8)"};
constexpr Rule kNoNan{4, "src holds no NaN", "replace NaN before the search, for example with select_reduce",
                      Mark::undocumented};

constexpr Rule kRules[] = {kSearchSize, kSearchRank, kDstShape, kNoNan};

void check(Check& c) {
  c.require(kSearchSize, has_search_size(c, src), src);
  c.require(kSearchRank, c.rank(src) <= kMaxSearchRank, src);
  c.require(kDstShape, c.rank(dst) == 2 && has_eight(c, dst, src),
            [&] { return fmt::format("dst is {}, src is {}", shape_text(c.access(dst)), shape_text(c.access(src))); });
}

// Integers in the order of the floats, -0 below +0.
std::int32_t key_of(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits ^ (bits >> 31 & 0x7fffffff);
}
float value_of(std::int32_t key) { return std::bit_cast<float>(key ^ (key >> 31 & 0x7fffffff)); }

// The eight largest keys so far, descending.
class Largest {
 public:
  Largest() { std::fill_n(keys_, kSearched, INT32_MIN); }
  std::int32_t smallest() const { return keys_[kSearched - 1]; }
  void offer(std::int32_t key) {
    if (key <= smallest()) return;
    int i = kSearched - 1;
    for (; i > 0 && keys_[i - 1] < key; --i) keys_[i] = keys_[i - 1];
    keys_[i] = key;
  }
  void values(float* out) const { std::transform(keys_, keys_ + kSearched, out, value_of); }

 private:
  std::int32_t keys_[kSearched];
};

void eight_largest(const float* x, std::int64_t n, float* out) {
  constexpr std::int64_t kBlock = 32;  // most blocks hold nothing large enough
  Largest largest;
  std::int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    int candidates = 0;
    for (std::int64_t k = 0; k < kBlock; ++k) candidates += key_of(x[i + k]) > largest.smallest();
    if (!candidates) continue;
    for (std::int64_t k = 0; k < kBlock; ++k) largest.offer(key_of(x[i + k]));
  }
  for (; i < n; ++i) largest.offer(key_of(x[i]));
  largest.values(out);
}

void run(Run& r) {
  const Tile& x = r.tile(src);
  std::vector<float> scratch(x.free_size);
  float out[kSearched];
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* values = load_row(r, x, row, 0, scratch.size(), scratch.data());
    int nans = 0;
    for (std::int64_t i = 0; i < x.free_size; ++i) nans += std::isnan(values[i]);
    if (nans && r.inputs_written) r.fail(kNoNan, fmt::format("partition {} holds {} NaN", row, nans));
    eight_largest(values, x.free_size, out);
    store_row(r, r.tile(dst), row, 0, kSearched, out);
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(src)))}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p] = the eight largest of src[p, *] as float32, equal values as often as they occur, in descending order "
        "(+0 before -0), then cvt.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_rows,
    .cost_text = "max(64, N)",
};

}  // namespace kiln::isa::instruction::max8
