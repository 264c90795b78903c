#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kiln/isa/instructions/shared/mx.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::quantize_mx {
namespace {
using namespace args::quantize_mx;

constexpr Rule kSrcPartitions{1, "src has 32, 64, 96 or 128 partitions", "pad the rows to a multiple of 32"};
constexpr Rule kSrcSize{2, "the free size of src is a multiple of 4", "pad the row to a multiple of 4 elements"};
constexpr Rule kDstShape{3, "dst is (P, F/4) for src (P, F)",
                         "allocate a quarter of src's columns: an element holds four values"};
constexpr Rule kScaleShape{
    4,
    "dst_scale has F/4 columns and enough rows: 4 for up to 32 partitions, else 4 at the start of every quadrant of 32",
    "allocate dst_scale as (P, F/4)"};
constexpr Rule kScaleStart{5, "dst_scale starts 0, 4, 8 or 12 partitions into a quadrant of 32",
                           "start the slice of the scales at partition 0, 4, 8 or 12"};
constexpr Rule kSameQuadrants{6, "dst and dst_scale lie in the same quadrants", "give both the same start quadrant",
                              Mark::historical};

constexpr Rule kRules[] = {kSrcPartitions, kSrcSize, kDstShape, kScaleShape, kScaleStart, kSameQuadrants};

void check(Check& c) {
  const std::int64_t p = c.partitions(src), f = c.free_size(src);
  c.require(kSrcPartitions, p % kQuadrant == 0, src, [&] { return fmt::format("src has {} partitions", p); });
  c.require(kSrcSize, f % 4 == 0, src, [&] { return fmt::format("src has {} free elements", f); });
  c.require(kDstShape, c.partitions(dst) == p && c.free_size(dst) == f / 4,
            [&] { return fmt::format("dst is {}, src is {}", shape_text(c.access(dst)), shape_text(c.access(src))); });
  c.require(kScaleShape, c.free_size(dst_scale) == f / 4 && c.partitions(dst_scale) >= scale_rows_for(p), [&] {
    return fmt::format("dst_scale is {}, src is {}", shape_text(c.access(dst_scale)), shape_text(c.access(src)));
  });
  const std::int64_t start = first_partition(c, dst_scale);
  c.require(kScaleStart, is_scale_start(start), dst_scale,
            [&] { return fmt::format("dst_scale starts at partition {}", start); });
  const bool placed = c.tensor(dst).address && c.tensor(dst_scale).address;
  c.advise(kSameQuadrants, !placed || start / kQuadrant == first_partition(c, dst) / kQuadrant,
           [&] { return fmt::format("dst starts at partition {}, dst_scale at {}", first_partition(c, dst), start); });
}

// Where the largest value of a group goes in an element: below 2^(exponent + 1), at most `largest`.
struct Range8 {
  int exponent;
  float largest;
};

// Before 0.5.0 scales were half as large, and quotients beyond the largest value were cut.
Range8 range_of(DType element, int nki) {
  const bool e5m2 = element == DType::float8_e5m2;
  const int halved = nki < 5;
  return {(e5m2 ? 14 : 7) + halved, e5m2 ? 57344.0f : 448.0f};
}

// Of 8 rows of 4 values per group: the scale of each group, and what its values are multiplied with.
struct Scales {
  explicit Scales(std::size_t columns) : bytes(columns), factors(4 * columns), largest(4 * columns) {}
  std::vector<std::uint32_t> bytes;
  std::vector<float> factors;          // one for each value; NaN where a value of the group is no number
  std::vector<std::uint32_t> largest;  // magnitudes as bits, over the rows
};

int exponent_of(std::uint32_t magnitude) { return std::ilogb(std::bit_cast<float>(magnitude)); }

void find_scales(const float* x, std::size_t f, const Range8& range, Scales& s) {
  std::ranges::fill(s.largest, 0u);
  for (std::int64_t k = 0; k < kScaleRows; ++k) {
    for (std::size_t i = 0; i < f; ++i)
      s.largest[i] = std::max(s.largest[i], std::bit_cast<std::uint32_t>(x[k * f + i]) & 0x7fffffffu);
  }
  constexpr std::uint32_t kInfinity = 0x7f800000;
  for (std::size_t c = 0; c < s.bytes.size(); ++c) {
    const std::uint32_t a = *std::max_element(&s.largest[4 * c], &s.largest[4 * c] + 4);
    const bool finite = a < kInfinity;
    const int exponent = a == 0 || !finite ? -127 : std::max(-127, exponent_of(a) - range.exponent);
    s.bytes[c] = finite ? static_cast<std::uint32_t>(exponent + 127) : 0xff;
    std::fill_n(&s.factors[4 * c], 4, finite ? std::ldexp(1.0f, -exponent) : std::numeric_limits<float>::quiet_NaN());
  }
}

// The one NaN of a group that has no scale, whatever its values were.
float scaled(float x, float factor, float largest) {
  return std::isnan(factor) ? factor : std::clamp(x * factor, -largest, largest);
}

void run(Run& r) {
  const Tile &s = r.tile(src), &d = r.tile(dst), &scale = r.tile(dst_scale);
  const DType element = element_dtype(d.dtype);
  const Range8 range = range_of(element, r.program().nki);
  const std::size_t f = s.free_size, columns = f / 4;
  std::vector<float> x(kScaleRows * f);
  std::vector<std::uint32_t> packed(columns);
  Scales scales(columns);
  for (std::int64_t first = 0; first < s.rows; first += kScaleRows) {
    for (std::int64_t k = 0; k < kScaleRows; ++k) {
      float* row = x.data() + k * f;  // scaled in place; float32, of widened programs, is not converted
      const float* from = load_row(r, s, first + k, 0, f, row);
      if (from != row) std::copy_n(from, f, row);
    }
    find_scales(x.data(), f, range, scales);
    for (std::int64_t k = 0; k < kScaleRows; ++k) {
      float* row = x.data() + k * f;
      for (std::size_t i = 0; i < f; ++i) row[i] = scaled(row[i], scales.factors[i], range.largest);
      r.k.store(element, row, f, packed.data(), 1);
      store_row_bits(r, d, first + k, 0, columns, packed.data());
    }
    store_row_bits(r, scale, scale_row(first), 0, columns, scales.bytes.data());
  }
}

// A group's scale and elements depend on the whole group; other rows of dst_scale stay as they are: padding.
void track(Track& t) {
  const std::int64_t rows = t.partitions(src), columns = t.free_size(dst);
  std::vector<Shadow> scales(t.access(dst_scale).count());
  std::vector<std::uint8_t> written(scales.size());
  for (std::int64_t k = 0; k < rows; k += kScaleRows)
    std::fill_n(written.begin() + scale_row(k) * columns, columns, std::uint8_t{1});
  if (t.is_clean(src)) {
    t.write_clean(dst);
  } else {
    const std::vector<Shadow> in = t.read(src);
    std::vector<Shadow> out(rows * columns);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      Shadow& group = scales[scale_row(i / columns) * columns + i % columns];
      for (int q = 0; q < 4 && group == 0; ++q) group = in[i * 4 + q];
    }
    for (std::int64_t i = 0; i < rows * columns; ++i) out[i] = scales[scale_row(i / columns) * columns + i % columns];
    t.write(dst, out);
  }
  t.write_where(dst_scale, scales, written);
  for (std::uint8_t& w : written) w = !w;
  t.mark_padding(dst_scale, written);
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(src)), 4)}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "Group: 8 partitions x 4 consecutive elements of src. a = max |V|; E = floor(log2 a) - (Emax - 1), at least "
        "-127, with Emax 8 (e4m3fn) or 15 (e5m2); scale byte E + 127, 0 when a = 0; elements cvt(V / 2^E). A group "
        "with inf or NaN gives scale 0xff and NaN. The scale of data partition k goes to row 32 * (k div 32) + (k mod "
        "32) div 8 of dst_scale; its other rows stay as they are. Before NKI 0.5.0: E = floor(log2 a) - Emax, and "
        "elements beyond the largest number are cut to it.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, F/4)",
};

}  // namespace kiln::isa::instruction::quantize_mx
