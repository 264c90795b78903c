#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/instructions/shared/accumulator.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/instructions/shared/vector_operator.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/rows.h"

namespace kiln::isa::instruction::tensor_scalar_cumulative {
namespace {
using namespace args::tensor_scalar_cumulative;

// R2 to R5: vector_operator.cpp.
constexpr Rule kSameShape{1, words::kSrcAndDstShape};
constexpr Rule kUnaryOperand{4, "a unary op0 takes imm0=0", "pass imm0=0"};
constexpr Rule kImmediateColumns{5, "imm0 and imm1 tiles have one value per partition", "slice the tile to (P, 1)"};
constexpr Rule kScanOperator{6, "op1 is add, subtract, multiply, maximum or minimum",
                             "use tensor_tensor_scan for other recurrences"};
constexpr Rule kReduceCmd{7, "reduce_cmd is reduce, reset_reduce or load_reduce", "start with reduce_cmd=reset_reduce"};
constexpr Rule kLoadNeedsStart{8, "load_reduce takes imm1, its start value", "give imm1"};
constexpr Rule kStartNeedsLoad{9, "imm1 is given with load_reduce only; it is ignored otherwise",
                               "leave imm1 out, or use reduce_cmd=load_reduce", Mark::undocumented};
constexpr Rule kStarted{10, words::kStarted};
constexpr Rule kOneOperator{11, words::kOneOperator};

constexpr Rule kRules[] = {kSameShape,
                           vector_operator_rules::kArithmetic,
                           vector_operator_rules::kGeneration,
                           kUnaryOperand,
                           kImmediateColumns,
                           kScanOperator,
                           kReduceCmd,
                           kLoadNeedsStart,
                           kStartNeedsLoad,
                           kStarted,
                           kOneOperator};

Reduction reduction(const InstView& v) {
  return {.bit = kVectorAccumulators,
          .cmd = v.get<ReduceCmd>(reduce_cmd),
          .op = v.alu(op1),
          .dst = dst,
          .reduce_res = -1,
          .init = imm1};
}

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, src),
            [&] { return fmt::format("dst is {}, src is {}", shape_text(c.access(dst)), shape_text(c.access(src))); });
  check_vector_operator(c, op0, imm0, src, kUnaryOperand, kImmediateColumns);
  if (c.is_tile(imm1)) c.require(kImmediateColumns, c.is_column(imm1, c.partitions(src)), imm1);
  c.require(kScanOperator, c.alu(op1) >= AluOp::add && c.alu(op1) <= AluOp::minimum, op1,
            [&] { return fmt::format("op1 is {}", name(c.alu(op1))); });
  const ReduceCmd cmd = c.get<ReduceCmd>(reduce_cmd);
  const bool loads = cmd == ReduceCmd::load_reduce;
  c.require(kReduceCmd, cmd != ReduceCmd::idle && cmd != ReduceCmd::reset, reduce_cmd,
            [&] { return fmt::format("reduce_cmd is {}", cmd == ReduceCmd::idle ? "idle" : "reset"); });
  c.require(kLoadNeedsStart, !loads || c.has(imm1), imm1, [&] { return "imm1 is not given"; });
  c.advise(kStartNeedsLoad, loads || !c.has(imm1), [&] { return "imm1 is given and reduce_cmd is not load_reduce"; });
}

// Of few rows: value + s, value - s or value * s as a sum with a product, which has a kernel of its own; false for
// other operators. The product or the sum with a constant changes nothing.
bool run_few_rows(Run& r) {
  constexpr std::int64_t kFew = 8;
  constexpr std::size_t kPiece = 512;
  const Tile &d = r.tile(dst), &x = r.tile(src);
  const AluOp o = r.alu(op1);
  if (d.rows >= kFew || (o != AluOp::add && o != AluOp::subtract && o != AluOp::multiply)) return false;
  std::vector<float> acc = start_accumulators(r, reduction(r));
  alignas(64) float values[kPiece], constant[kPiece];
  std::fill_n(constant, kPiece, o == AluOp::multiply ? -0.0f : o == AluOp::add ? 1.0f : -1.0f);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    for (std::int64_t first = 0; first < d.free_size; first += kPiece) {
      const std::size_t n = std::min<std::size_t>(kPiece, d.free_size - first);
      r.k.alu_vs(r.alu(op0), load_row(r, x, row, first, n, values), r.column(imm0, row), values, n);
      const bool product = o == AluOp::multiply;
      r.k.linear_scan(product ? values : constant, 0, product ? constant : values, 0, values, 0, 1, n, &acc[row]);
      store_row(r, d, row, first, n, values);
    }
  }
  put_back(r, reduction(r), acc);
  return true;
}

// The rows of a block run side by side, one column after the other.
void run(Run& r) {
  if (run_few_rows(r)) return;
  constexpr std::size_t kRows = 64, kColumns = 64;
  alignas(64) float by_row[kRows][kColumns], by_column[kColumns][kRows];
  const Tile &d = r.tile(dst), &x = r.tile(src);
  const bool is_short = d.free_size <= static_cast<std::int64_t>(kChunk / kRows) && is_regular(d) && is_regular(x);
  Rows to(r, d), from(r, x);
  std::vector<float> acc = start_accumulators(r, reduction(r));
  for (std::int64_t block = 0; block < d.rows; block += kRows) {
    const std::size_t rows = std::min<std::size_t>(kRows, d.rows - block);
    for (std::int64_t first = 0; first < d.free_size; first += kColumns) {
      const std::size_t n = std::min<std::size_t>(kColumns, d.free_size - first);
      const std::size_t stride = is_short ? n : kColumns;  // of rows that are brought together
      if (is_short) {
        const RowChunk chunk{block, 0, rows * n, {from.load(block, rows, by_row[0])}, by_row[0], x.free_size};
        apply_operand(r, r.alu(op0), false, chunk, chunk.in[0], imm0, chunk.out);
      }
      for (std::size_t i = 0; i < rows && !is_short; ++i) {
        const std::int64_t row = block + static_cast<std::int64_t>(i);
        const float* values = load_row(r, x, row, first, n, by_row[i]);
        r.k.alu_vs(r.alu(op0), values, r.column(imm0, row), by_row[i], n);
      }
      r.k.transpose(sizeof(float), by_row, stride, by_column, kRows, rows, n);
      const float* before = acc.data() + block;
      for (std::size_t f = 0; f < n; before = by_column[f++])
        r.k.alu_vv(r.alu(op1), by_column[f], before, by_column[f], rows);
      std::copy_n(before, rows, acc.data() + block);
      r.k.transpose(sizeof(float), by_column, kRows, by_row, stride, n, rows);
      if (is_short) to.store(block, rows, by_row[0]);
      for (std::size_t i = 0; i < rows && !is_short; ++i)
        store_row(r, d, block + static_cast<std::int64_t>(i), first, n, by_row[i]);
    }
  }
  put_back(r, reduction(r), acc);
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(src)))}; }

// dst[p, f] depends on src[p, 0 … f] and on what the accumulator held.
void track(Track& t) {
  std::vector<Shadow> grid = overlay(t, dst, {src, imm0});
  TrackedLane* lane = track_start(t, reduction(t), {.undefined = &kStarted, .mixed = &kOneOperator});
  const std::int64_t rows = t.partitions(dst), columns = t.free_size(dst);
  const bool clean = std::all_of(lane, lane + rows, [](const TrackedLane& l) { return l.shadow == 0; });
  if (grid.empty() && clean) return t.write_clean(dst);
  grid.resize(rows * columns);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    Shadow& held = lane[i / columns].shadow;
    if (held == 0) held = grid[i];
    grid[i] = held;
  }
  t.write(dst, grid);
}

unsigned state(const InstView&) { return kVectorAccumulators; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "Per partition: reg = identity of op1 (0 for subtract) with reset_reduce, the accumulator with reduce, imm1 "
        "with load_reduce; then for f ascending reg = op1(op0(src[f], imm0), reg), dst[f] = cvt(reg). With subtract "
        "the old reg is subtracted from the new value. reg stays float32 and is left in the accumulator.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N)",
    .state = state,
    .facts = {.in_place = param_bit(src)},
};

}  // namespace kiln::isa::instruction::tensor_scalar_cumulative
