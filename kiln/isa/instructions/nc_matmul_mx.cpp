#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kiln/isa/instructions/shared/mx.h"
#include "kiln/isa/instructions/shared/product.h"
#include "kiln/isa/instructions/shared/psum_accumulate.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/indirect_rules.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nc_matmul_mx {
namespace {
using namespace args::nc_matmul_mx;

constexpr Rule kSameContraction{1, "stationary and moving have the same number of partitions, a multiple of 32",
                                "pad K so that K/4 is a multiple of 32"};
constexpr Rule kStationarySize{2, "stationary has an even number of at most 128 free elements (M)",
                               "split or pad the columns"};
constexpr Rule kMovingSize{3, "moving has at most 4096 free elements into float32 and 8192 into bfloat16",
                           "split the columns of moving"};
constexpr Rule kDstShape{4, words::kProductShape};
constexpr Rule kScaleShape{5,
                           "a scale tile has at least the columns of its data, and enough rows: 4 for up to 32 "
                           "partitions, else 4 at the start of every quadrant of 32",
                           "give the scales as many columns as the data, and as many partitions beyond 32"};
constexpr Rule kScaleStart{6, "a scale tile starts 0, 4, 8 or 12 partitions into a quadrant of 32",
                           "start the slice of the scales at partition 0, 4, 8 or 12"};
constexpr Rule kTileTogether{7, words::kTileTogether};
constexpr Rule kTileGrid{
    8, "tile_size is (32, 64 or 128, 128) and tile_position (a multiple of the rows, 0), ending at or before 128",
    "tile the rows only"};
constexpr Rule kTileFits{9, "the operands have at most tile_size[0] partitions", "choose a larger tile, or split K"};
constexpr Rule kAccumulateWritten{10, words::kAccumulateWritten};
constexpr Rule kAccumulateMatmul{
    11, "accumulate=True adds to what a matmul wrote; adding to what another instruction wrote is not promised",
    "drop the memset and let the first matmul overwrite: accumulate=(k > 0)", Mark::undocumented};
constexpr Rule kIndirect{12,
                         "an indirect operand and its scale have the same index, and tile_position is unset or (0, 0)",
                         "give data and scale the same index tile, or copy the gathered tiles first"};
constexpr Rule kTileStart{
    13, "operands start at the tile's first row: placed there by hand, or where the compiler can place them so",
    "start both at partition tile_position[0]", Mark::undocumented};
constexpr Rule kRowCount{14, "operands have 32, 64 or 128 partitions", "pad K, or split it into 64 and 32 partitions",
                         Mark::external};
constexpr Rule kRowsWritten{15,
                            "rows that were never written are not multiplied, not even by zeros: NaN or infinity in "
                            "them would spoil the product",
                            "memset the tile before it is filled in part", Mark::undocumented};

constexpr Rule kRules[] = {kSameContraction,  kStationarySize, kMovingSize, kDstShape, kScaleShape,
                           kScaleStart,       kTileTogether,   kTileGrid,   kTileFits, kAccumulateWritten,
                           kAccumulateMatmul, kIndirect,       kTileStart,  kRowCount, kRowsWritten};

struct Operand {
  int data, scale;
};
constexpr Operand kOperands[] = {{stationary, stationary_scale}, {moving, moving_scale}};

void check_shape(Check& c) {
  const std::int64_t p = c.partitions(stationary), m = c.free_size(stationary), n = c.free_size(moving);
  const int limit = c.dtype(dst) == DType::bfloat16 ? c.arch().matmul_moving_bfloat16 : c.arch().matmul_moving;
  c.require(kSameContraction, p == c.partitions(moving) && p % kQuadrant == 0,
            [&] { return fmt::format("stationary has {} partitions, moving {}", p, c.partitions(moving)); });
  c.require(kStationarySize, m % 2 == 0 && m <= c.arch().matmul_columns, stationary,
            [&] { return fmt::format("stationary has {} free elements", m); });
  c.require(
      kMovingSize, n <= limit, moving, [&] { return fmt::format("moving has {} free elements", n); },
      fmt::format("at most {} into {}", limit, name(c.dtype(dst))));
  c.require(kDstShape, c.partitions(dst) == m && c.free_size(dst) == n, dst,
            [&] { return fmt::format("dst is {}, the product is [{}, {}]", shape_text(c.access(dst)), m, n); });
  c.advise(kRowCount, p != 96, stationary, [&] { return "stationary has 96 partitions"; });
}

void check_scales(Check& c) {
  for (const Operand o : kOperands) {
    c.require(
        kScaleShape,
        c.free_size(o.scale) >= c.free_size(o.data) && c.partitions(o.scale) >= scale_rows_for(c.partitions(o.data)),
        [&] { return fmt::format("{}; {}", c.describe(o.scale), c.describe(o.data)); });
    const std::int64_t start = first_partition(c, o.scale);
    c.require(kScaleStart, is_scale_start(start),
              [&] { return fmt::format("`{}` starts at partition {}", c.row().params[o.scale].name, start); });
  }
}

void check_tiling(Check& c) {
  const auto position = c.integers(tile_position), size = c.integers(tile_size);
  const bool pair =
      position.empty() == size.empty() && (position.empty() || (position.size() == 2 && size.size() == 2));
  c.require(kTileTogether, pair,
            [&] { return fmt::format("tile_position has {} numbers, tile_size {}", position.size(), size.size()); });
  if (!pair || position.empty()) return;
  const std::int64_t row = position[0], rows = size[0];
  const std::int64_t all_rows = c.arch().matmul_rows, all_columns = c.arch().matmul_columns;
  const bool known = rows == all_rows / 4 || rows == all_rows / 2 || rows == all_rows;
  const bool is_on_grid =
      known && row >= 0 && row % rows == 0 && row + rows <= all_rows && position[1] == 0 && size[1] == all_columns;
  c.require(kTileGrid, is_on_grid,
            [&] { return fmt::format("tile_position=({}, {}), tile_size=({}, {})", row, position[1], rows, size[1]); });
  c.require(kTileFits, c.partitions(stationary) <= rows, [&] {
    return fmt::format("stationary has {} partitions, tile_size=({}, {})", c.partitions(stationary), rows, size[1]);
  });
  for (const Operand o : kOperands) {
    const bool matters = is_on_grid && (rows < all_rows || c.tensor(o.data).address);
    c.require(kTileStart, !matters || can_start_at(c, c.access(o.data), row), [&] {
      return fmt::format("`{}` starts at partition {}, the tile at row {}", c.row().params[o.data].name,
                         first_partition(c, o.data), row);
    });
  }
}

// The tile that holds an operand's offsets, or none.
const Access* index_of(const Check& c, int param) {
  return c.is_indirect(param) ? &c.program().accesses[c.dynamic(param)->source] : nullptr;
}

bool same_index(const Access* a, const Access* b) {
  if (!a || !b) return a == b;
  return a->tensor == b->tensor && a->offset.constant == b->offset.constant &&
         std::equal(a->dims, a->dims + a->rank, b->dims, b->dims + b->rank);
}

void check_indirect(Check& c) {
  bool any = c.is_indirect(dst), paired = true;
  for (const Operand o : kOperands) {
    any = any || c.is_indirect(o.data) || c.is_indirect(o.scale);
    paired = paired && same_index(index_of(c, o.data), index_of(c, o.scale));
  }
  if (!any) return;
  const auto position = c.integers(tile_position);
  const bool origin = position.empty() || (position[0] == 0 && position[1] == 0);
  c.require(kIndirect, paired && origin, tile_position, [&] {
    return paired ? "tile_position is not (0, 0)" : "data and scale are not gathered with the same index";
  });
}

void check(Check& c) {
  check_shape(c);
  check_scales(c);
  check_tiling(c);
  check_indirect(c);
}

// Values of the sub-elements of a packed dtype by their code: 256 of them, or 16.
using Codes = std::array<float, 256>;
Codes make_codes(DType t) {
  Codes codes;
  for (std::uint32_t code = 0; code < codes.size(); ++code) codes[code] = unpack(t, code, 0);
  return codes;
}
const Codes& codes(DType t) {
  static const Codes kE5m2 = make_codes(DType::float8_e5m2_x4), kE4m3 = make_codes(DType::float8_e4m3fn_x4),
                     kE2m1 = make_codes(DType::float4_e2m1fn_x4);
  return t == DType::float8_e5m2_x4 ? kE5m2 : t == DType::float8_e4m3fn_x4 ? kE4m3 : kE2m1;
}

// 2^(byte - 127), of which the first is subnormal; 0xff is NaN.
float scale_value(std::uint32_t byte) {
  const std::uint32_t bits = byte == 0xff ? 0x7fc00000 : byte == 0 ? 0x00400000 : byte << 23;
  return std::bit_cast<float>(bits);
}

// Row 4k + q of the result: sub-element q of row k times its scale. The scale is a power of two: the product
// is exact unless it leaves the range of float32.
const float* expand(const Run& r, Operand o, std::vector<float>& out) {
  const Tile &x = r.tile(o.data), &scale = r.tile(o.scale);
  const Codes& value = codes(x.dtype);
  const int width = 2 * static_cast<int>(x.element_bytes());
  const std::uint32_t mask = (1u << width) - 1;
  const std::size_t n = x.free_size;
  const DType element = element_dtype(x.dtype);
  out.resize(4 * x.count());
  std::vector<std::uint32_t> bits(n), scale_bits(n);
  std::vector<float> factor(n);
  for (std::int64_t k = 0; k < x.rows; ++k) {
    if (k % kScaleRows == 0) {
      load_row_bits(r, scale, scale_row(k), 0, n, scale_bits.data());
      for (std::size_t i = 0; i < n; ++i) factor[i] = scale_value(scale_bits[i]);
    }
    load_row_bits(r, x, k, 0, n, bits.data());
    for (int q = 0; q < 4; ++q) {
      float* to = out.data() + (4 * k + q) * n;
      if (width == 8) {
        r.k.load(element, reinterpret_cast<const std::byte*>(bits.data()) + q, 4, n, to);
      } else {
        for (std::size_t i = 0; i < n; ++i) to[i] = value[bits[i] >> q * width & mask];
      }
      r.k.alu_vv(AluOp::multiply, to, factor.data(), to, n);
    }
  }
  return out.data();
}

void run(Run& r) {
  thread_local std::vector<float> a_buffer, b_buffer;
  const float* a = expand(r, kOperands[0], a_buffer);
  const float* b = expand(r, kOperands[1], b_buffer);
  multiply_into(r, r.tile(dst), {DType::float32, a, r.tile(stationary).free_size},
                {DType::float32, b, r.tile(moving).free_size}, 4 * r.tile(stationary).rows);
}

Cost cost(const CostQuery& q) {
  const double m = static_cast<double>(q.free_size(stationary)), n = static_cast<double>(q.free_size(moving));
  return matmul_cost(q, 1, m, std::max(std::min<double>(q.arch().matmul_init_cycles, m), n), false);
}

// Rows of a scale tile that belong to no data are padding, and mostly unwritten.
bool has_clean_scales(Track& t, Operand o) {
  for (std::int64_t k = 0; k < t.partitions(o.data); k += kScaleRows) {
    if (!t.is_row_clean(o.scale, scale_row(k))) return false;
  }
  return true;
}

// Per column of an operand: the first shadow in its data, or in the scales that belong to it. Rows where
// `ignored` is set do not count.
std::vector<Shadow> operand_shadow(Track& t, Operand o, const std::vector<std::uint8_t>& ignored = {}) {
  const bool clean_scales = has_clean_scales(t, o);
  if (clean_scales && t.is_clean(o.data)) return {};
  const std::int64_t columns = t.free_size(o.data), scale_columns = t.free_size(o.scale);
  std::vector<Shadow> out(columns);
  const auto add_rows = [&](const std::vector<Shadow>& in, std::int64_t step, auto&& first) {
    for (std::int64_t k = 0; k < t.partitions(o.data); k += step) {
      if (!ignored.empty() && ignored[k]) continue;
      for (std::int64_t c = 0; c < columns; ++c) {
        if (out[c] == 0) out[c] = in[first(k) + c];
      }
    }
  };
  if (!t.is_clean(o.data)) add_rows(t.read(o.data), 1, [&](std::int64_t k) { return k * columns; });
  if (!clean_scales)
    add_rows(t.read(o.scale), ignored.empty() ? kScaleRows : 1,
             [&](std::int64_t k) { return scale_row(k) * scale_columns; });
  return out;
}

bool any(const std::vector<Shadow>& shadow) {
  return std::any_of(shadow.begin(), shadow.end(), [](Shadow s) { return s != 0; });
}

// The rows of an operand that hold nothing but zeros, in all columns.
std::vector<std::uint8_t> zero_rows(Track& t, Operand o) {
  const std::uint32_t magnitude = t.dtype(o.data) == DType::float4_e2m1fn_x4 ? 0x7777 : 0x7f7f7f7f;
  const std::int64_t columns = t.free_size(o.data), scale_columns = t.free_size(o.scale);
  const std::vector<Shadow> data_shadow = t.read(o.data), scale_shadow = t.read(o.scale);
  const std::vector<std::uint32_t> data = t.bits(o.data), scale = t.bits(o.scale);
  std::vector<std::uint8_t> zero(t.partitions(o.data), 1);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::int64_t k = i / columns, s = scale_row(k) * scale_columns + i % columns;
    const bool written = data_shadow[i] == 0 && scale_shadow[s] == 0;
    if (!written || (data[i] & magnitude) != 0 || scale[s] == 0xff) zero[k] = 0;
  }
  return zero;
}

void track(Track& t) {
  std::vector<Shadow> shadow[2] = {operand_shadow(t, kOperands[0]), operand_shadow(t, kOperands[1])};
  for (const int i : {0, 1}) {
    if (!any(shadow[i])) continue;
    const std::vector<std::uint8_t> ignored = zero_rows(t, kOperands[1 - i]);
    std::vector<Shadow> rest = operand_shadow(t, kOperands[i], ignored);
    if (rest == shadow[i]) continue;
    shadow[i] = std::move(rest);
    t.bits(kOperands[i].data), t.bits(kOperands[i].scale);  // settles what is not written
    const std::int64_t row = std::find(ignored.begin(), ignored.end(), 1) - ignored.begin();
    t.warn(kRowsWritten,
           fmt::format("{} was not written where {} is 0, first in row {}", t.row().params[kOperands[i].data].name,
                       t.row().params[kOperands[1 - i].data].name, row));
  }
  track_product(t, dst, t.arg(accumulate), kAccumulateWritten, kAccumulateMatmul, shadow[0], shadow[1]);
}

Product product(const InstView& v, const Arch& arch) {
  const bool packed = size_bytes(v.dtype(stationary)) == 4;
  return matrix_product(v, dst, stationary, moving, packed ? 4 : 1, arch);
}

SumMode sum_mode(const InstView& v) { return sum_mode_of(v.arg(accumulate)); }

std::optional<ArrayTile> array_tile(const InstView& v) { return tile_of_array(v, tile_position, tile_size); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "sum[m, n] = Σ_k Σ_q (s(k, m) * stationary[k, m, q]) * (t(k, n) * moving[k, n, q]) in float32, (k, q) "
        "ascending with fused multiply-add, q the four values of an element; dst = sum, or dst + sum when it "
        "accumulates as nc_matmul does. s(k, m) = 2^(stationary_scale[row, m] - 127) with row = 32 * (k div 32) + (k "
        "mod 32) div 8 of the scale view, t alike; scale 0xff is NaN.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(min(64, M), N) cycles: four times the rate of a bfloat16 matmul of the same K",
    .facts = {.stationary = stationary,
              .moving = moving,
              .product = product,
              .sum_mode = sum_mode,
              .array_tile = array_tile},
};

}  // namespace kiln::isa::instruction::nc_matmul_mx
