#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/isa/instructions/shared/product.h"
#include "kiln/isa/instructions/shared/psum_accumulate.h"
#include "kiln/isa/instructions/shared/psum_bank.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/indirect_rules.h"
#include "kiln/isa/semantics/rows.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nc_matmul {
namespace {
using namespace args::nc_matmul;

constexpr Rule kSameContraction{
    1, "stationary and moving have the same number of partitions (the contraction dimension K)",
    "slice both to the same K rows"};
constexpr Rule kStationarySize{2, "stationary has at most 128 free elements (M)",
                               "split stationary into tiles of 128 columns"};
constexpr Rule kMovingSize{
    3, "moving has at most 512 free elements on gen2 and gen3; on gen4 4096 into float32 and 8192 into bfloat16",
    "split the free dimension of moving into several matmuls"};
constexpr Rule kDstShape{4, words::kProductShape};
constexpr Rule kFp32Family{5, "float32 and tfloat32 pair only with float32 and tfloat32",
                           "convert both operands to one family"};
constexpr Rule kOneFp8Format{6, "float8_e4m3 and float8_e4m3fn are not mixed",
                             "store both operands in the same fp8 format"};
constexpr Rule kInputDtypes{
    7, "inputs are float8_e4m3, float8_e5m2, bfloat16, float16, tfloat32 or float32; float8_e4m3fn on gen4",
    "convert the operand with tensor_copy"};
constexpr Rule kDstDtype{8, "dst is float32; bfloat16 on gen4", "allocate the PSUM tile as float32"};
constexpr Rule kOneBank{9, "dst lies inside one 2 KiB PSUM bank on gen2 and gen3",
                        "use at most 512 float32 columns of one bank"};
constexpr Rule kTileTogether{10, words::kTileTogether};
constexpr Rule kTileGrid{11,
                         "tile sizes are 64 or 128, and 32 from gen3 on; a position is a multiple of its size and the "
                         "tile ends at or before 128",
                         "choose a tile of 32, 64 or 128 rows and columns on its own grid"};
constexpr Rule kTileFits{12, "the operands fit into tile_size", "K is at most the tile's rows, M at most its columns"};
constexpr Rule kDoubleRowGeneration{13, "perf_mode double_row exists from gen3 on", "leave perf_mode out on trn1"};
constexpr Rule kDoubleRowShape{14, "double_row takes fp8 operands of shape (K, 2, ·)",
                               "view both operands as (K, 2, M) and (K, 2, N) in fp8"};
constexpr Rule kDoubleRowAlone{15, "double_row does not combine with is_transpose or column tiling", "use one of them"};
constexpr Rule kDoubleRowStride{16, "the stride of the double_row dimension is a multiple of 16 elements",
                                "pad M and N of the two halves to a multiple of 16", Mark::external};
constexpr Rule kTransposeDtype{
    17, "with is_transpose dst has the dtype of stationary; on gen2, where the flag is only a label, or float32",
    "allocate dst with stationary's dtype"};
constexpr Rule kTransposeIdentity{18, "with is_transpose moving is a K x K identity matrix",
                                  "pass an identity of the input dtype as moving", Mark::undocumented};
constexpr Rule kTransposeOverwrites{19, "with is_transpose the result overwrites dst",
                                    "leave accumulate out, or pass False", Mark::undocumented};
constexpr Rule kAccumulateWritten{20, words::kAccumulateWritten};
constexpr Rule kAccumulateMatmul{
    21, "accumulate=True does not add to PSUM that another instruction initialised (undefined on gen2 and gen3)",
    "drop the memset and let the first matmul overwrite: accumulate=(k > 0)"};
constexpr Rule kOneZero{22, "an operand marked onezero holds only zeros and ones", "drop the hint", Mark::undocumented};
constexpr Rule kIndirect{23,
                         "indirect operands are 8- or 16-bit floats, moving is not indirect with is_transpose, and "
                         "tile_position is unset or (0, 0)",
                         "copy the gathered operand first"};
constexpr Rule kTileStart{24,
                          "operands start at the tile's first row, dst at its first column: placed there by hand, or "
                          "where the compiler can place their tensors so",
                          "give stationary and moving the start partition tile_position[0], dst tile_position[1]",
                          Mark::undocumented};
constexpr Rule kTransposeFp8Stride{
    25, "a transposed fp8 result takes every second element of PSUM: the results are 16 bits wide (from gen3 on)",
    "allocate dst twice as wide and pass every second element of it", Mark::external};

constexpr Rule kRules[] = {
    kSameContraction,     kStationarySize,    kMovingSize,       kDstShape,        kFp32Family,     kOneFp8Format,
    kInputDtypes,         kDstDtype,          kOneBank,          kTileTogether,    kTileGrid,       kTileFits,
    kDoubleRowGeneration, kDoubleRowShape,    kDoubleRowAlone,   kDoubleRowStride, kTransposeDtype, kTransposeIdentity,
    kTransposeOverwrites, kAccumulateWritten, kAccumulateMatmul, kOneZero,         kIndirect,       kTileStart,
    kTransposeFp8Stride};

bool is_fp32(DType t) { return t == DType::float32 || t == DType::tfloat32; }
bool is_fp8(DType t) { return is_float(t) && size_bytes(t) == 1; }
bool is_double_row(const InstView& v) { return v.get<MatmulPerfMode>(perf_mode) == MatmulPerfMode::double_row; }
std::int64_t columns(const InstView& v, int param) { return v.free_size(param) / (is_double_row(v) ? 2 : 1); }

void check_input_dtypes(Check& c) {
  const DType s = c.dtype(stationary), m = c.dtype(moving);
  const auto found = [&] { return fmt::format("stationary is {}, moving is {}", name(s), name(m)); };
  c.require(kFp32Family, is_fp32(s) == is_fp32(m), found);
  const auto mixed = [](DType a, DType b) { return a == DType::float8_e4m3 && b == DType::float8_e4m3fn; };
  c.require(kOneFp8Format, !mixed(s, m) && !mixed(m, s), found);
  c.require(kInputDtypes, s != DType::float8_e3m4 && m != DType::float8_e3m4, found);
}

void check_shape(Check& c) {
  const std::int64_t m = columns(c, stationary), n = columns(c, moving);
  const int limit = c.dtype(dst) == DType::bfloat16 ? c.arch().matmul_moving_bfloat16 : c.arch().matmul_moving;
  const char* swapped =
      m != n && c.partitions(dst) == n && c.free_size(dst) == m ? "; stationary and moving look exchanged" : "";
  c.require(kSameContraction, c.partitions(stationary) == c.partitions(moving), [&] {
    return fmt::format("stationary has {} partitions, moving {}", c.partitions(stationary), c.partitions(moving));
  });
  c.require(kStationarySize, m <= c.arch().matmul_columns, stationary,
            [&] { return fmt::format("stationary has {} free elements{}", m, swapped); });
  c.require(
      kMovingSize, n <= limit, moving, [&] { return fmt::format("moving has {} free elements", n); },
      fmt::format("at most {} on {} into {}", limit, c.arch().generation_name, name(c.dtype(dst))));
  c.require(kDstShape, c.partitions(dst) == m && c.free_size(dst) == n, dst, [&] {
    return fmt::format("dst is {}, the product is [{}, {}]{}", shape_text(c.access(dst)), m, n, swapped);
  });
}

void check_bank(Check& c) {
  c.require(kOneBank, c.arch().features.psum_bfloat16 || lies_in_one_bank(c, dst), [&] { return bank_text(c, dst); });
}

// Only a tile that is a part of the array, or an operand placed by hand, has something to miss.
void check_tile_start(Check& c, int param, std::int64_t wanted, bool is_part) {
  const Access& access = c.access(param);
  if (!is_part && !c.tensor(param).address) return;
  c.require(kTileStart, can_start_at(c, access, wanted), tile_position, [&] {
    const auto position = c.integers(tile_position);
    return fmt::format("`{}` starts at partition {} of `{}`, and tile_position=({}, {})", c.row().params[param].name,
                       access.partition.constant, c.tensor(param).name, position[0], position[1]);
  });
}

void check_tiling(Check& c) {
  const auto position = c.integers(tile_position), size = c.integers(tile_size);
  c.require(kTileTogether,
            position.empty() == size.empty() && (position.empty() || (position.size() == 2 && size.size() == 2)),
            [&] { return fmt::format("tile_position has {} numbers, tile_size {}", position.size(), size.size()); });
  if (position.size() != 2 || size.size() != 2) return;
  const auto legal = [&](std::int64_t p, std::int64_t s, std::int64_t whole) {
    const bool known = s == whole / 2 || s == whole || (s == whole / 4 && c.arch().features.row_tile_32);
    return known && p >= 0 && p % s == 0 && p + s <= whole;
  };
  const std::int64_t all_rows = c.arch().matmul_rows, all_columns = c.arch().matmul_columns;
  const bool is_on_grid = legal(position[0], size[0], all_rows) && legal(position[1], size[1], all_columns);
  c.require(kTileGrid, is_on_grid, [&] {
    return fmt::format("tile_position=({}, {}), tile_size=({}, {})", position[0], position[1], size[0], size[1]);
  });
  c.require(kTileFits, c.partitions(stationary) <= size[0] && columns(c, stationary) <= size[1], [&] {
    return fmt::format("stationary is {}, tile_size=({}, {})", shape_text(c.access(stationary)), size[0], size[1]);
  });
  if (!is_on_grid) return;
  check_tile_start(c, stationary, position[0], size[0] < all_rows);
  check_tile_start(c, moving, position[0], size[0] < all_rows);
  check_tile_start(c, dst, position[1], size[1] < all_columns);
}

void check_double_row(Check& c) {
  if (!is_double_row(c)) return;
  c.require(kDoubleRowGeneration, c.arch().features.double_row, perf_mode, [&] { return "perf_mode is double_row"; });
  const auto has_rows = [&](int p) { return is_fp8(c.dtype(p)) && c.rank(p) >= 3 && c.dim(p, 1) == 2; };
  c.require(kDoubleRowShape, has_rows(stationary) && has_rows(moving),
            [&] { return fmt::format("{}; {}", c.describe(stationary), c.describe(moving)); });
  const auto size = c.integers(tile_size);
  c.require(kDoubleRowAlone, !c.boolean(is_transpose) && (size.size() != 2 || size[1] == c.arch().matmul_columns),
            [&] { return c.boolean(is_transpose) ? "is_transpose is True" : "tile_size splits the columns"; });
  const auto padded = [&](int p) {  // a single column has nothing to pad
    return c.rank(p) < 3 || c.access(p).dims[1].stride % 16 == 0 || c.free_size(p) == 2;
  };
  c.require(kDoubleRowStride, padded(stationary) && padded(moving), [&] {
    return fmt::format("strides are {} and {}", c.access(stationary).dims[1].stride, c.access(moving).dims[1].stride);
  });
}

void check_indirect(Check& c) {
  const bool any = c.is_indirect(dst) || c.is_indirect(stationary) || c.is_indirect(moving);
  if (!any) return;
  const auto position = c.integers(tile_position);
  const bool origin = position.size() != 2 || (position[0] == 0 && position[1] == 0);
  const bool narrow = size_bytes(c.dtype(stationary)) <= 2 && size_bytes(c.dtype(moving)) <= 2;
  c.require(kIndirect, narrow, [&] { return fmt::format("{}; {}", c.describe(stationary), c.describe(moving)); });
  c.require(kIndirect, origin, tile_position,
            [&] { return fmt::format("tile_position is ({}, {})", position[0], position[1]); });
  c.require(kIndirect, !(c.is_indirect(moving) && c.boolean(is_transpose)),
            [] { return std::string("moving is indirect, with is_transpose"); });
}

void check_dst_dtype(Check& c) {
  c.require(kDstDtype,
            c.dtype(dst) == DType::float32 || (c.dtype(dst) == DType::bfloat16 && c.arch().features.psum_bfloat16), dst,
            [&] { return fmt::format("dst is {}", name(c.dtype(dst))); });
}

void check_transpose(Check& c) {
  const bool exact = c.arch().features.tensor_transpose_mode;
  const DType to = c.dtype(dst), from = c.dtype(stationary);
  c.require(kTransposeDtype, to == from || (!exact && to == DType::float32),
            [&] { return fmt::format("dst is {}, stationary is {}", name(to), name(from)); });
  c.require(kTransposeIdentity, c.free_size(moving) == c.partitions(moving), moving);
  c.require(kTransposeOverwrites, !c.has(accumulate) || !c.boolean(accumulate), accumulate,
            [&] { return "accumulate is True"; });
  const Dim last = c.access(dst).dims[c.rank(dst) - 1];
  c.require(kTransposeFp8Stride, !exact || size_bytes(to) > 1 || last.count == 1 || last.stride == 2, dst,
            [&] { return fmt::format("dst is {} with stride {}", name(to), last.stride); });
}

void check(Check& c) {
  check_input_dtypes(c);
  check_shape(c);
  check_bank(c);
  check_tiling(c);
  check_double_row(c);
  check_indirect(c);
  c.boolean(is_transpose) ? check_transpose(c) : check_dst_dtype(c);
}

// An operand as rows of a factor: in place, or converted to float32 in `buffer`.
Factor as_factor(const Run& r, const Tile& t, std::vector<float>& buffer) {
  if (is_factor_dtype(t.dtype) && t.row_is_contiguous() && !t.row_offset)
    return {t.dtype, t.data, t.row_bytes / t.element_bytes()};
  const bool is_every_second = t.free_rank == 1 && t.free[0].stride == 2 && !t.column;
  if (t.dtype == DType::float32 && is_every_second && !t.row_offset && t.row_bytes % t.element_bytes() == 0)
    return {t.dtype, t.data, t.row_bytes / t.element_bytes(), true};
  buffer.resize(t.count());
  const bool together = is_regular(t) && t.free_size <= static_cast<std::int64_t>(kChunk);
  const std::int64_t at_once = t.dtype == DType::float32 ? t.rows : static_cast<std::int64_t>(kChunk) / t.free_size;
  const std::int64_t block = together ? at_once : 1;
  Rows rows(r, t);
  for (std::int64_t row = 0; row < t.rows; row += block) {
    const std::int64_t count = std::min(block, t.rows - row);
    float* to = buffer.data() + row * t.free_size;
    const float* from = together ? rows.load(row, count, to) : load_row(r, t, row, 0, t.free_size, to);
    if (from != to) std::memcpy(to, from, count * t.free_size * sizeof(float));
  }
  return {DType::float32, buffer.data(), t.free_size};
}

void require_onezero(const Run& r, int param) {
  const Tile& t = r.tile(param);
  std::vector<float> buffer(t.free_size);
  for (std::int64_t row = 0; row < t.rows; ++row) {
    const float* x = load_row(r, t, row, 0, t.free_size, buffer.data());
    for (std::int64_t i = 0; i < t.free_size; ++i) {
      if (x[i] != 0 && x[i] != 1) r.fail(kOneZero, fmt::format("`{}` holds {}", r.row().params[param].name, x[i]));
    }
  }
}

void require_identity(const Run& r) {
  const Tile& t = r.tile(moving);
  const std::int64_t n = t.rows;
  std::vector<float> buffer(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = load_row(r, t, i, 0, n, buffer.data());
    // -0.0 is 0 here.
    if (row[i] == 1.0f && r.k.largest(4, row, 1, i) == 0 && r.k.largest(4, row + i + 1, 1, n - i - 1) == 0) continue;
    for (std::int64_t j = 0; j < n; ++j) {
      if (row[j] != (i == j ? 1.0f : 0.0f))
        r.fail(kTransposeIdentity, fmt::format("moving[{}, {}] is {}", i, j, row[j]));
    }
  }
}

// What was said of the values holds.
void require_values(const Run& r) {
  if (!r.inputs_written) return;
  if (r.boolean(is_stationary_onezero)) require_onezero(r, stationary);
  if (r.boolean(is_moving_onezero)) require_onezero(r, moving);
  if (r.boolean(is_transpose)) require_identity(r);
}

void run(Run& r) {
  const Tile &s = r.tile(stationary), &m = r.tile(moving);
  require_values(r);
  if (r.boolean(is_transpose) && r.arch().features.tensor_transpose_mode)
    return transpose_elements(r, r.tile(dst), r.tile(stationary));
  thread_local std::vector<float> a_buffer, b_buffer;
  Factor a = as_factor(r, s, a_buffer), b = as_factor(r, m, b_buffer);
  if (!is_double_row(r)) return multiply_into(r, r.tile(dst), a, b, s.rows);
  // A contraction over 2K rows: fp8 operands are in the buffers now, where the halves of a row follow each
  // other.
  a.stride /= 2;
  b.stride /= 2;
  multiply_into(r, r.tile(dst), a, b, 2 * s.rows);
}

Cost cost(const CostQuery& q) {
  const double m = static_cast<double>(columns(q, stationary)), n = static_cast<double>(columns(q, moving));
  const bool wide = q.dtype(stationary) == DType::float32 || q.dtype(moving) == DType::float32;
  double passes = wide ? q.arch().matmul_fp32_passes : 1;
  if (passes > 1 && q.boolean(is_transpose) && q.arch().features.tensor_transpose_mode) passes /= 2;
  if (passes > 1 && (q.boolean(is_stationary_onezero) || q.boolean(is_moving_onezero))) passes /= 2;
  return matmul_cost(q, passes, m, std::max(std::min<double>(q.arch().matmul_init_cycles, m), n),
                     q.boolean(is_transpose));
}

// A transpose overwrites: dst[m, n] from stationary[n, m] and from the identity's column n.
void track_transpose(Track& t) {
  t.set_psum_mode(PsumMode::overwrite, {});
  if (t.is_clean(stationary) && t.is_clean(moving)) {
    t.write_clean(dst);
    return t.mark_matmul(dst);
  }
  const std::vector<Shadow> in = t.read(stationary);
  const std::int64_t n = t.partitions(stationary), m = t.free_size(stationary);
  std::vector<Shadow> out(m * n);
  fast_kernels().transpose(1, in.data(), m, out.data(), n, n, m);
  if (!t.is_clean(moving)) {
    const std::vector<Shadow> identity = t.read(moving);
    for (std::int64_t i = 0; i < n * n; ++i) {
      for (std::int64_t row = 0; identity[i] && row < m; ++row) out[row * n + i % n] = identity[i];
    }
  }
  t.write(dst, out);
  t.mark_matmul(dst);
}

void track(Track& t) {
  if (t.boolean(is_transpose) && t.arch().features.tensor_transpose_mode) return track_transpose(t);
  const Arg overwrite{.kind = Arg::Kind::boolean};
  track_product(t, dst, t.boolean(is_transpose) ? overwrite : t.arg(accumulate), kAccumulateWritten, kAccumulateMatmul,
                column_shadow(t, stationary, t.partitions(dst)), column_shadow(t, moving, t.free_size(dst)));
}

Product product(const InstView& v, const Arch& arch) {
  Product p = matrix_product(v, dst, stationary, moving, 1, arch);
  p.transposes = v.boolean(is_transpose);
  return p;
}

SumMode sum_mode(const InstView& v) {
  return v.boolean(is_transpose) ? SumMode::overwrites : sum_mode_of(v.arg(accumulate));
}

std::optional<ArrayTile> array_tile(const InstView& v) { return tile_of_array(v, tile_position, tile_size); }

// Ones, transposed, with a single row.
bool spreads_row(const InstView& v) { return v.boolean(is_stationary_onezero) && v.partitions(moving) == 1; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "sum[m, n] = Σ_k stationary[k, m] * moving[k, n] in float32, k ascending with fused multiply-add; dst = sum, "
        "or dst + sum when it accumulates. accumulate None: per element, the first matmul overwrites and later ones "
        "add. double_row: operands (K, 2, ·), the sum also runs over the second dimension. is_transpose: dst[m, n] = "
        "stationary[n, m], bit for bit from gen3 on.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(min(64, M), N) cycles, times 4 for float32; half of that with onezero hints or in transpose mode",
    .facts = {.stationary = stationary,
              .moving = moving,
              .spreads_row = spreads_row,
              .product = product,
              .sum_mode = sum_mode,
              .array_tile = array_tile},
};

}  // namespace kiln::isa::instruction::nc_matmul
