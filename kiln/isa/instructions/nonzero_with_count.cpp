#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nonzero_with_count {
namespace {
using namespace args::nonzero_with_count;

constexpr std::int64_t kGroup = 16;  // partitions of one gpsimd core; only the first of them takes part

constexpr Rule kSamePartitions{1, "dst and src have the same number of partitions",
                               "slice them to one partition count"};
constexpr Rule kDstSize{2, "dst has one free element more than src, for the count", "allocate dst as (P, F + 1)"};
constexpr Rule kInt32{3, "padding_val, index_offset and the last index plus index_offset fit in int32",
                      "use smaller numbers"};

constexpr Rule kRules[] = {kSamePartitions, kDstSize, kInt32};

bool fits_int32(std::int64_t x) {
  return x >= std::numeric_limits<std::int32_t>::min() && x <= std::numeric_limits<std::int32_t>::max();
}

void check(Check& c) {
  const std::int64_t offset = c.integer(index_offset), padding = c.integer(padding_val);
  c.require(kSamePartitions, c.partitions(dst) == c.partitions(src),
            [&] { return fmt::format("dst has {} partitions, src has {}", c.partitions(dst), c.partitions(src)); });
  c.require(kDstSize, c.free_size(dst) == c.free_size(src) + 1,
            [&] { return fmt::format("dst has {} free elements, src has {}", c.free_size(dst), c.free_size(src)); });
  c.require(kInt32, fits_int32(padding) && fits_int32(offset) && fits_int32(offset + c.free_size(src) - 1),
            [&] { return fmt::format("index_offset is {}, padding_val is {}", offset, padding); });
}

void run(Run& r) {
  const Tile &d = r.tile(dst), &x = r.tile(src);
  const bool is_float = x.dtype == DType::float32;
  const auto offset = static_cast<std::uint32_t>(r.integer(index_offset));
  std::vector<std::uint32_t> in(x.free_size), out(d.free_size);
  for (std::int64_t row = 0; row < x.rows; row += kGroup) {
    load_row_bits(r, x, row, 0, in.size(), in.data());
    std::fill(out.begin(), out.end(), static_cast<std::uint32_t>(r.integer(padding_val)));
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < in.size(); ++i) {
      const bool nonzero = is_float ? (in[i] << 1) != 0 : in[i] != 0;  // -0.0 is zero, NaN is not
      if (nonzero) out[count++] = i + offset;
    }
    out.back() = count;
    store_row_bits(r, d, row, 0, out.size(), out.data());
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(src)))}; }

// Every index and the count depend on the whole row; the other rows of dst are left alone.
void track(Track& t) {
  const std::int64_t rows = t.partitions(dst), columns = t.free_size(dst), in_columns = t.free_size(src);
  std::vector<Shadow> out(rows * columns);
  std::vector<std::uint8_t> written(rows * columns);
  bool clean = true;
  for (std::int64_t row = 0; row < rows; row += kGroup) {
    clean = clean && t.is_row_clean(src, row);
    std::fill_n(written.begin() + row * columns, columns, std::uint8_t{1});
  }
  if (clean) return t.write_where(dst, out, written);
  const std::vector<Shadow> in = t.read(src);
  for (std::int64_t row = 0; row < rows; row += kGroup) {
    const auto begin = in.begin() + row * in_columns, end = begin + in_columns;
    const auto first = std::find_if(begin, end, [](Shadow s) { return s != 0; });
    std::fill_n(out.begin() + row * columns, columns, first == end ? Shadow{0} : *first);
  }
  t.write_where(dst, out, written);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "For partitions p = 0, 16, 32, … with F free elements in src: i_0 < i_1 < … are the c positions where src[p, "
        "i] is not zero; dst[p, j] = i_j + index_offset for j < c, dst[p, j] = padding_val for c <= j < F, dst[p, F] = "
        "c. -0.0 is zero, NaN is not. Other partitions of dst are left alone.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "150 + N (not documented)",
};

}  // namespace kiln::isa::instruction::nonzero_with_count
