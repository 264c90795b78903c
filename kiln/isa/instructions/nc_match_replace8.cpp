#include <fmt/format.h>

#include <cmath>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/instructions/shared/search8.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nc_match_replace8 {
namespace {
using namespace args::nc_match_replace8;

constexpr Rule kLongestRow{1, "data has at most 16384 elements per partition", "split long rows"};
constexpr Rule kShortestRow{2, "data has at least 8 elements per partition",
                            "pad short rows with a value that is not searched", Mark::undocumented};
constexpr Rule kSearchRank{3, words::kSearchRank};
constexpr Rule kValsShape{4, words::kValsShape};
constexpr Rule kDstShape{5, "dst has the partitions and the free elements of data",
                         "allocate dst like data, or pass data itself"};
constexpr Rule kDstIdxShape{6, "dst_idx has the partitions of data and 8 elements in each",
                            "allocate dst_idx as (P, 8)"};
constexpr Rule kImmRange{7, "imm is in the range of float32", "use a number of at most 3.4028235e38, or an infinity"};

constexpr Rule kRules[] = {kLongestRow, kShortestRow, kSearchRank, kValsShape, kDstShape, kDstIdxShape, kImmRange};

void check(Check& c) {
  c.require(kLongestRow, c.free_size(data) <= kMaxSearchSize, data);
  c.require(kShortestRow, c.free_size(data) >= kMinSearchSize, data);
  for (int param : {data, vals}) c.require(kSearchRank, c.rank(param) <= kMaxSearchRank, param);
  c.require(kValsShape, has_eight(c, vals, data), [&] {
    return fmt::format("vals is {}, data is {}", shape_text(c.access(vals)), shape_text(c.access(data)));
  });
  c.require(kDstShape, c.same_shape(dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  if (c.has(dst_idx)) c.require(kDstIdxShape, has_eight(c, dst_idx, data), dst_idx);
  c.require(kImmRange, !std::isfinite(c.real(imm)) || std::isfinite(static_cast<float>(c.real(imm))), imm,
            [&] { return fmt::format("imm is {}", c.real(imm)); });
}

// Elements that do not match keep their bits when the dtypes agree.
void copy_row(const Run& r, std::int64_t row, const float* values, std::vector<std::uint32_t>& bits) {
  const Tile &d = r.tile(dst), &x = r.tile(data);
  if (d.dtype != x.dtype) return store_row(r, d, row, 0, bits.size(), values);
  load_row_bits(r, x, row, 0, bits.size(), bits.data());
  store_row_bits(r, d, row, 0, bits.size(), bits.data());
}

void run(Run& r) {
  const Tile &x = r.tile(data), &d = r.tile(dst);
  const float replacement = static_cast<float>(r.real(imm));
  std::vector<float> scratch(x.free_size);
  std::vector<std::uint32_t> bits(x.free_size);
  float wanted_scratch[kSearched];
  std::uint32_t found[kSearched];
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* values = load_row(r, x, row, 0, scratch.size(), scratch.data());
    const float* wanted = load_row(r, r.tile(vals), row, 0, kSearched, wanted_scratch);
    find_eight(values, x.free_size, wanted, true, found);
    copy_row(r, row, values, bits);
    for (std::uint32_t f : found) {
      if (f != kNotFound) store_row(r, d, row, f, 1, &replacement);
    }
    if (r.has(dst_idx)) store_row_bits(r, r.tile(dst_idx), row, 0, kSearched, found);
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(data)))}; }

// Whether element f is replaced depends on all values and on the elements up to f, since the first match
// counts. Position j depends on the whole row and on the values from j on.
void track(Track& t) {
  if (t.is_clean(data) && t.is_clean(vals)) return track_none(t);
  std::vector<Shadow> x = t.read(data), index = t.read(vals);
  const std::int64_t columns = t.free_size(data);
  for (std::int64_t row = 0; row < t.partitions(data); ++row) {
    Shadow in_vals = 0, in_row = 0;
    for (std::int64_t j = 0; j < kSearched && !in_vals; ++j) in_vals = index[row * kSearched + j];
    for (std::int64_t f = 0; f < columns; ++f) {
      Shadow& s = x[row * columns + f];
      if (!in_row) in_row = s;
      s = in_vals ? in_vals : in_row;
    }
    for (std::int64_t j = kSearched - 1; j >= 0; --j) {
      Shadow& s = index[row * kSearched + j];
      if (!in_row) in_row = s;
      s = in_row;
    }
  }
  t.write(dst, x);
  if (t.has(dst_idx)) t.write(dst_idx, index);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst = data (the same bits when the dtypes agree); for j = 7 … 0: the first f with data[p, f] == vals[p, j], "
        "compared as float32, that no later j has taken: dst[p, f] = cvt(imm), dst_idx[p, j] = f; all ones when there "
        "is none. A replaced element is not matched again.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N)",
};

}  // namespace kiln::isa::instruction::nc_match_replace8
