#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/rows.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::tensor_tensor_scan {
namespace {
using namespace args::tensor_tensor_scan;

constexpr Rule kNotBothPsum{1, "data0 and data1 are not both in PSUM",
                            "copy one of them to SBUF with tensor_copy first"};
constexpr Rule kSameShape{2, "data0, data1 and dst have the same number of partitions and of free elements",
                          "slice or reshape the operands to one shape"};
constexpr Rule kInitialColumn{3, "initial is a number, or a tile with one value per partition",
                              "slice initial to (P, 1)"};
constexpr Rule kOperators{4, "op0 and op1 are arithmetic operators of the vector engine with two operands",
                          "use add, subtract, multiply, maximum, minimum, a comparison or a logical operator"};
constexpr Rule kGeneration{5, words::kOperatorsGeneration};

constexpr Rule kRules[] = {kNotBothPsum, kSameShape, kInitialColumn, kOperators, kGeneration};

void check(Check& c) {
  c.require(kNotBothPsum, !(c.in_psum(data0) && c.in_psum(data1)), [&] { return "data0 and data1 are both in PSUM"; });
  c.require(kSameShape, c.same_shape(dst, data0) && c.same_shape(dst, data1), [&] {
    return fmt::format("dst is {}, data0 is {}, data1 is {}", shape_text(c.access(dst)), shape_text(c.access(data0)),
                       shape_text(c.access(data1)));
  });
  if (c.is_tile(initial)) c.require(kInitialColumn, c.is_column(initial, c.partitions(data0)), initial);
  for (int param : {op0, op1}) {
    const AluInfo& alu = info(c.alu(param));
    const auto found = [&] { return fmt::format("{} is {}", c.row().params[param].name, alu.name); };
    c.require(kOperators, alu.cls == AluClass::arith && alu.engines.find("vector") != std::string_view::npos, found);
    c.require(kGeneration, alu.cls != AluClass::arith || c.arch().generation >= alu.first_generation, found);
  }
}

// Pieces of this shape are turned round, so that a step of the recurrence takes one element of each row. Two of them
// fit into the first cache.
constexpr std::int64_t kRows = 128, kColumns = 16;
// No power of two, so that rows do not compete for the same cache lines.
constexpr std::int64_t kRowStride = kColumns + 16, kColumnStride = kRows + 16;

bool is_float_matrix(const Tile& t) {
  return t.dtype == DType::float32 && t.row_is_contiguous() && !t.row_offset && t.row_bytes % 4 == 0;
}

// What each row starts from.
std::vector<float> start_of(const Run& r) {
  const std::int64_t rows = r.tile(dst).rows;
  std::vector<float> start(rows);
  if (!r.is_tile(initial)) {
    std::ranges::fill(start, r.column(initial, 0));
  } else if (const float* column = Rows(r, r.tile(initial)).load(0, rows, start.data()); column != start.data()) {
    std::copy_n(column, rows, start.data());
  }
  return start;
}

// Short rows many at a time.
void run_short_rows(const Run& r, const Tile& d, const Tile& x, const Tile& y, float* state) {
  alignas(64) float factors[kChunk], sums[kChunk];
  const std::int64_t n = d.free_size, block = static_cast<std::int64_t>(kChunk) / n;
  Rows to(r, d), from_x(r, x), from_y(r, y);
  for (std::int64_t row = 0; row < d.rows; row += block) {
    const std::int64_t rows = std::min(block, d.rows - row);
    const float *factor = from_x.load(row, rows, factors), *sum = from_y.load(row, rows, sums);
    r.k.linear_scan(factor, n, sum, n, sums, n, rows, n, state + row);
    to.store(row, rows, sums);
  }
}

// Products and sums have a kernel of their own, which takes rows of float32; false for other operators.
bool run_linear(const Run& r) {
  const Tile &d = r.tile(dst), &x = r.tile(data0), &y = r.tile(data1);
  if (r.alu(op0) != AluOp::multiply || r.alu(op1) != AluOp::add) return false;
  std::vector<float> state = start_of(r);
  if (is_float_matrix(d) && is_float_matrix(x) && is_float_matrix(y)) {
    const auto floats = [](const Tile& t) { return reinterpret_cast<float*>(t.data); };
    r.k.linear_scan(floats(x), x.row_bytes / 4, floats(y), y.row_bytes / 4, floats(d), d.row_bytes / 4, d.rows,
                    d.free_size, state.data());
    return true;
  }
  constexpr std::int64_t kBlockRows = 32, kBlockColumns = 128;
  if (d.free_size <= kBlockColumns && is_regular(d) && is_regular(x) && is_regular(y)) {
    run_short_rows(r, d, x, y, state.data());
    return true;
  }
  alignas(64) float factors[kBlockRows][kBlockColumns], sums[kBlockRows][kBlockColumns];
  const auto load = [&](const Tile& t, std::int64_t row, std::int64_t first, std::int64_t n, float* to) {
    const float* from = load_row(r, t, row, first, n, to);
    if (from != to) std::copy_n(from, n, to);
  };
  for (std::int64_t row = 0; row < d.rows; row += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, d.rows - row);
    for (std::int64_t first = 0; first < d.free_size; first += kBlockColumns) {
      const std::int64_t n = std::min(kBlockColumns, d.free_size - first);
      for (std::int64_t p = 0; p < rows; ++p)
        load(x, row + p, first, n, factors[p]), load(y, row + p, first, n, sums[p]);
      r.k.linear_scan(factors[0], kBlockColumns, sums[0], kBlockColumns, sums[0], kBlockColumns, rows, n, &state[row]);
      for (std::int64_t p = 0; p < rows; ++p) store_row(r, d, row + p, first, n, sums[p]);
    }
  }
  return true;
}

class Piece {
 public:
  explicit Piece(const Run& r) : r_(r) {}
  float* column(std::int64_t f) { return &by_column_[f * kColumnStride]; }

  void load(const Tile& t, std::int64_t row, std::int64_t first, std::int64_t rows, std::int64_t n) {
    if (is_float_matrix(t))
      return r_.k.transpose(4, t.row(row) + first * 4, t.row_bytes / 4, by_column_, kColumnStride, rows, n);
    if (n == t.free_size && is_regular(t)) {
      const float* values = Rows(r_, t).load(row, rows, by_row_);
      return r_.k.transpose(4, values, n, by_column_, kColumnStride, rows, n);
    }
    for (std::int64_t p = 0; p < rows; ++p) {
      float* to = &by_row_[p * kRowStride];
      const float* from = load_row(r_, t, row + p, first, n, to);
      if (from != to) std::copy_n(from, n, to);
    }
    r_.k.transpose(4, by_row_, kRowStride, by_column_, kColumnStride, rows, n);
  }
  void store(const Tile& t, std::int64_t row, std::int64_t first, std::int64_t rows, std::int64_t n) {
    if (is_float_matrix(t))
      return r_.k.transpose(4, by_column_, kColumnStride, t.row(row) + first * 4, t.row_bytes / 4, n, rows);
    if (n == t.free_size && is_regular(t)) {
      r_.k.transpose(4, by_column_, kColumnStride, by_row_, n, n, rows);
      return Rows(r_, t).store(row, rows, by_row_);
    }
    r_.k.transpose(4, by_column_, kColumnStride, by_row_, kRowStride, n, rows);
    for (std::int64_t p = 0; p < rows; ++p) store_row(r_, t, row + p, first, n, &by_row_[p * kRowStride]);
  }

 private:
  const Run& r_;
  alignas(64) float by_row_[kRows * kRowStride], by_column_[kColumns * kColumnStride];
};

void run(Run& r) {
  if (run_linear(r)) return;
  const Tile& d = r.tile(dst);
  Piece x(r), y(r);
  std::vector<float> starts = start_of(r);
  for (std::int64_t row = 0; row < d.rows; row += kRows) {
    float* const start = &starts[row];
    const std::int64_t rows = std::min(kRows, d.rows - row);
    const auto apply = [&](int op, bool reversed, const float* a, const float* b, float* out) {
      r.k.alu_vv(r.alu(op), reversed ? b : a, reversed ? a : b, out, rows);
    };
    for (std::int64_t first = 0; first < d.free_size; first += kColumns) {
      const std::int64_t n = std::min(kColumns, d.free_size - first);
      x.load(r.tile(data0), row, first, rows, n);
      y.load(r.tile(data1), row, first, rows, n);
      const float* state = start;
      for (std::int64_t f = 0; f < n; ++f) {
        apply(op0, r.boolean(reverse0), x.column(f), state, x.column(f));
        apply(op1, r.boolean(reverse1), x.column(f), y.column(f), y.column(f));
        state = y.column(f);
      }
      std::copy_n(state, rows, start);
      y.store(d, row, first, rows, n);
    }
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(2 * static_cast<double>(q.free_size(dst)))}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "s = initial; for f ascending: s = op1(op0(data0[p, f], s), data1[p, f]); dst[p, f] = cvt(s). reverse0 swaps "
        "the operands of op0, reverse1 those of op1. s stays float32, rounded after each operator.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_prefix,
    .cost_text = "max(64, 2N)",
    .facts = {.in_place = param_bit(data0) | param_bit(data1)},
};

}  // namespace kiln::isa::instruction::tensor_tensor_scan
