#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/semantics/rows.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::tensor_partition_reduce {
namespace {
using namespace args::tensor_partition_reduce;

constexpr Rule kOperator{1, "op is add, average, maximum, bitwise_or or bitwise_and",
                         "transpose with nc_transpose and use tensor_reduce for other operators"};
constexpr Rule kDstShape{2, "dst has one partition and the free elements of data",
                         "allocate dst as (1, F) for data (P, F)"};
constexpr Rule kBitWidths{3, words::kBitWidths};

constexpr Rule kRules[] = {kOperator, kDstShape, kBitWidths};

void check(Check& c) {
  const AluOp o = c.alu(op);
  c.require(kOperator,
            o == AluOp::add || o == AluOp::average || o == AluOp::maximum || o == AluOp::bitwise_or ||
                o == AluOp::bitwise_and,
            op, [&] { return fmt::format("op is {}", name(o)); });
  c.require(kDstShape, c.partitions(dst) == 1 && c.free_size(dst) == c.free_size(data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  if (!is_bitvec(o)) return;
  c.require(
      kBitWidths,
      is_integer(c.dtype(dst)) && is_integer(c.dtype(data)) && size_bytes(c.dtype(dst)) == size_bytes(c.dtype(data)),
      [&] { return fmt::format("{} of {} into {}", name(o), name(c.dtype(data)), name(c.dtype(dst))); });
}

bool is_int32(DType t) { return t == DType::int32 || t == DType::uint32; }

// Columns come one after the other as they lie in memory, and results go where they belong, where all of them are read
// before the first one is written.
void follow_memory(Tile& d, Tile& x) {
  const bool regular = !x.column && !x.row_offset && d.row_is_contiguous() && !d.row_offset;
  if (!regular || x.free_rank < 2 || x.free_size > static_cast<std::int64_t>(kChunk)) return;
  struct Both {
    Dim from, to;
  };
  Both dims[kMaxOperandRank];
  std::int64_t step = 1;
  for (int i = x.free_rank - 1; i >= 0; step *= x.free[i--].count) dims[i] = {x.free[i], {step, x.free[i].count}};
  std::ranges::stable_sort(dims, dims + x.free_rank, std::greater<>(), [](const Both& b) { return b.from.stride; });
  Dim sorted[kMaxOperandRank];
  d.free_rank = x.free_rank;
  for (int i = 0; i < d.free_rank; ++i) sorted[i] = dims[i].from, d.free[i] = dims[i].to;
  x.free_rank = static_cast<std::uint8_t>(merge_dims(sorted, x.free_rank, x.free));
}

// Bit operators, and exact addition of 32-bit integers: raw elements.
void run_bits(Run& r, const Tile& d, const Tile& x) {
  alignas(64) std::uint32_t acc[kChunk], row_bits[kChunk];
  for (std::int64_t first = 0; first < x.free_size; first += kChunk) {
    const std::size_t n = std::min<std::size_t>(kChunk, x.free_size - first);
    load_row_bits(r, x, 0, first, n, acc);
    for (std::int64_t row = 1; row < x.rows; ++row) {
      load_row_bits(r, x, row, first, n, row_bits);
      if (r.alu(op) == AluOp::add) {
        r.k.int_vv(AluOp::add, x.dtype == DType::int32, acc, row_bits, acc, n);
      } else {
        r.k.bits_vv(r.alu(op), 8 * size_bytes(x.dtype), acc, row_bits, acc, n);
      }
    }
    store_row_bits(r, d, 0, first, n, acc);
  }
}

// Short rows many at a time, and narrow ones column by column.
void fold_short_rows(const Run& r, const Tile& x, AluOp fold, float* acc) {
  constexpr std::int64_t kNarrow = 16;
  alignas(64) float scratch[kChunk], by_column[kChunk];
  const std::int64_t n = x.free_size, block = static_cast<std::int64_t>(kChunk) / n;
  Rows from(r, x);
  for (std::int64_t row = 0; row < x.rows; row += block) {
    std::int64_t rows = std::min(block, x.rows - row);
    const float* values = from.load(row, rows, scratch);
    if (row == 0) std::copy_n(values, n, acc), values += n, --rows;
    if (n < kNarrow && rows > 0) {
      r.k.transpose(sizeof(float), values, n, by_column, rows, rows, n);
      r.k.fold_rows(fold, by_column, rows, n, rows, acc);
    } else {
      for (std::int64_t i = 0; i < rows; ++i) r.k.alu_vv(fold, acc, values + i * n, acc, n);
    }
  }
}

void run(Run& r) {
  Tile d = r.tile(dst), x = r.tile(data);
  follow_memory(d, x);
  const bool exact = r.alu(op) == AluOp::add && is_int32(d.dtype) && is_int32(x.dtype);
  if (is_bitvec(r.alu(op)) || exact) return run_bits(r, d, x);
  const bool average = r.alu(op) == AluOp::average;
  const AluOp fold = average ? AluOp::add : r.alu(op);
  const float count = static_cast<float>(x.rows);
  alignas(64) float acc[kChunk], scratch[kChunk];
  const bool goes_together = is_regular(x) && x.free_size <= static_cast<std::int64_t>(kChunk) / 2;
  for (std::int64_t first = 0; first < x.free_size; first += kChunk) {
    const std::size_t n = std::min<std::size_t>(kChunk, x.free_size - first);
    if (goes_together) {
      fold_short_rows(r, x, fold, acc);
    } else {
      std::copy_n(load_row(r, x, 0, first, n, scratch), n, acc);
      for (std::int64_t row = 1; row < x.rows; ++row)
        r.k.alu_vv(fold, acc, load_row(r, x, row, first, n, scratch), acc, n);
    }
    if (average) std::transform(acc, acc + n, acc, [&](float sum) { return sum / count; });
    store_row(r, d, 0, first, n, acc);
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(data)))}; }

// A column of dst depends on its own column of data.
void track(Track& t) {
  if (t.is_clean(data)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(data);
  std::vector<Shadow> out(t.free_size(data));
  for (std::size_t i = 0; i < in.size(); ++i) {
    Shadow& s = out[i % out.size()];
    if (s == 0) s = in[i];
  }
  t.write(dst, out);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[0, f] = cvt(data[0, f] op data[1, f] op …), partitions ascending, each step rounded to float32; average "
        "divides the sum by P. add of 32-bit integers into 32-bit integers is exact and wraps. Bit operators work on "
        "raw bits.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "150 + N (not documented; the guide advises nc_transpose and tensor_reduce, or a matmul with ones)",
};

}  // namespace kiln::isa::instruction::tensor_partition_reduce
