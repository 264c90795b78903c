#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kiln/isa/instructions/shared/mx.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa {
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

DType element_dtype(DType packed) {
  return packed == DType::float8_e5m2_x4 ? DType::float8_e5m2 : DType::float8_e4m3fn;
}

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

// Scales and divides the 8 rows x 4 values of one column. Returns the scale's byte.
std::uint32_t quantize_group(float* x, std::size_t row_stride, const Range8& range) {
  float a = 0;
  bool finite = true;
  const auto each = [&](auto&& fn) {
    for (std::int64_t i = 0; i < kScaleRows * 4; ++i) fn(x[i / 4 * row_stride + i % 4]);
  };
  each([&](float v) {
    finite = finite && std::isfinite(v);
    a = std::max(a, std::fabs(v));
  });
  if (!finite) {
    each([](float& v) { v = std::numeric_limits<float>::quiet_NaN(); });
    return 0xff;
  }
  const int exponent = a == 0 ? -127 : std::max(-127, std::ilogb(a) - range.exponent);
  each([&](float& v) { v = std::clamp(std::ldexp(v, -exponent), -range.largest, range.largest); });
  return static_cast<std::uint32_t>(exponent + 127);
}

void run(Run& r) {
  const Tile &s = r.tile(src), &d = r.tile(dst), &scale = r.tile(dst_scale);
  const DType element = element_dtype(d.dtype);
  const Range8 range = range_of(element, r.program().nki);
  const std::size_t f = s.free_size, columns = f / 4;
  std::vector<float> x(kScaleRows * f);
  std::vector<std::uint32_t> packed(columns), scales(columns);
  for (std::int64_t first = 0; first < s.rows; first += kScaleRows) {
    for (std::int64_t k = 0; k < kScaleRows; ++k) {
      float* row = x.data() + k * f;  // scaled in place; float32, of widened programs, is not converted
      const float* from = load_row(r, s, first + k, 0, f, row);
      if (from != row) std::copy_n(from, f, row);
    }
    for (std::size_t c = 0; c < columns; ++c) scales[c] = quantize_group(x.data() + 4 * c, f, range);
    for (std::int64_t k = 0; k < kScaleRows; ++k) {
      r.k.store(element, x.data() + k * f, f, packed.data(), 1);
      store_row_bits(r, d, first + k, 0, columns, packed.data());
    }
    store_row_bits(r, scale, scale_row(first), 0, columns, scales.data());
  }
}

// A group's scale and elements depend on the whole group; other rows of dst_scale stay as they are: padding.
void track(Track& t) {
  const std::vector<Shadow> in = t.read(src);
  const std::int64_t rows = t.partitions(src), columns = t.free_size(dst);
  std::vector<Shadow> out(rows * columns), scales(t.access(dst_scale).count());
  std::vector<std::uint8_t> written(scales.size());
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t k = i / columns, c = i % columns, group = scale_row(k) * columns + c;
    written[group] = 1;
    for (int q = 0; q < 4; ++q) {
      if (scales[group] == 0) scales[group] = in[(k * columns + c) * 4 + q];
    }
  }
  for (std::int64_t i = 0; i < rows * columns; ++i) out[i] = scales[scale_row(i / columns) * columns + i % columns];
  t.write(dst, out);
  t.write_where(dst_scale, scales, written);
  for (std::uint8_t& w : written) w = !w;
  t.mark_padding(dst_scale, written);
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(src)), 4)}; }

}  // namespace

extern const Semantics semantics_quantize_mx = {
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

}  // namespace kiln::isa
