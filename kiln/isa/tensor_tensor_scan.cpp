#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "kiln/isa/check.h"
#include "kiln/isa/cost.h"
#include "kiln/isa/run.h"
#include "kiln/isa/track.h"

namespace kiln::isa {
namespace {
using namespace args::tensor_tensor_scan;

constexpr Rule kRules[] = {
    /* R1 */ {"data0 and data1 are not both in PSUM", "copy one of them to SBUF with tensor_copy first"},
    /* R2 */
    {"data0, data1 and dst have the same number of partitions and of free elements",
     "slice or reshape the operands to one shape"},
    /* R3 */ {"initial is a number, or a tile with one value per partition", "slice initial to (P, 1)"},
    /* R4 */
    {"op0 and op1 are arithmetic operators of the vector engine with two operands",
     "use add, subtract, multiply, maximum, minimum, a comparison or a logical operator"},
    /* R5 */ {"the operators exist on the target's generation", "abs_max and abs_min need trn3"},
};

void check(Check& c) {
  c.require(1, !(c.in_psum(data0) && c.in_psum(data1)), [&] { return "data0 and data1 are both in PSUM"; });
  c.require(2, c.same_shape(dst, data0) && c.same_shape(dst, data1), [&] {
    return fmt::format("dst is {}, data0 is {}, data1 is {}", shape_text(c.access(dst)),
                       shape_text(c.access(data0)), shape_text(c.access(data1)));
  });
  if (c.is_tile(initial))
    c.require(3, c.is_column(initial, c.partitions(data0)), [&] { return c.describe(initial); });
  for (int param : {op0, op1}) {
    const AluInfo& alu = info(c.alu(param));
    const auto found = [&] { return fmt::format("{} is {}", c.row().params[param].name, alu.name); };
    c.require(4, alu.cls == AluClass::arith && alu.engines.find("vector") != std::string_view::npos, found);
    c.require(5, alu.cls != AluClass::arith || c.arch().generation >= alu.first_generation, found);
  }
}

constexpr std::size_t kColumns = 64;  // of all rows at a time, column by column

// out[f * rows + p] = free element first + f of row p.
void load_columns(const Run& r, const Tile& t, std::int64_t first, std::size_t n, float* out) {
  if (t.dtype == DType::float32 && t.row_is_contiguous())
    return r.k.transpose(4, reinterpret_cast<const float*>(t.row(0)) + first, t.row_bytes / 4, out, t.rows,
                         t.rows, n);
  std::vector<float> rows(t.rows * n);
  for (std::int64_t p = 0; p < t.rows; ++p) load_row(r, t, p, first, n, &rows[p * n]);
  r.k.transpose(4, rows.data(), n, out, t.rows, t.rows, n);
}

void store_columns(const Run& r, const Tile& t, std::int64_t first, std::size_t n, const float* values) {
  if (t.dtype == DType::float32 && t.row_is_contiguous())
    return r.k.transpose(4, values, t.rows, reinterpret_cast<float*>(t.row(0)) + first, t.row_bytes / 4, n,
                         t.rows);
  std::vector<float> rows(t.rows * n);
  r.k.transpose(4, values, t.rows, rows.data(), n, n, t.rows);
  for (std::int64_t p = 0; p < t.rows; ++p) store_row(r, t, p, first, n, &rows[p * n]);
}

// A row is sequential, the rows are not: each step takes one column, all rows at once.
void run(Run& r) {
  const Tile& d = r.tile(dst);
  const std::size_t rows = d.rows;
  std::vector<float> x(rows * kColumns), y(rows * kColumns), state(rows);
  for (std::size_t p = 0; p < rows; ++p) state[p] = r.column(initial, p);
  const auto apply = [&](int op, bool reversed, const float* a, const float* b, float* out) {
    r.k.alu_vv(r.alu(op), reversed ? b : a, reversed ? a : b, out, rows);
  };
  for (std::int64_t first = 0; first < d.free_size; first += kColumns) {
    const std::size_t n = std::min<std::size_t>(kColumns, d.free_size - first);
    load_columns(r, r.tile(data0), first, n, x.data());
    load_columns(r, r.tile(data1), first, n, y.data());
    for (std::size_t f = 0; f < n; ++f) {
      float *x_f = &x[f * rows], *y_f = &y[f * rows];
      apply(op0, r.boolean(reverse0), x_f, state.data(), x_f);
      apply(op1, r.boolean(reverse1), x_f, y_f, y_f);
      std::copy_n(y_f, rows, state.data());
    }
    store_columns(r, d, first, n, y.data());
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(2 * static_cast<double>(q.free_size(dst)))}; }

}  // namespace

extern const Semantics semantics_tensor_tensor_scan = {
    .rules = kRules,
    .description =
        "s = initial; for f ascending: s = op1(op0(data0[p, f], s), data1[p, f]); dst[p, f] = cvt(s). "
        "reverse0 "
        "swaps the operands of op0, reverse1 those of op1. s stays float32, rounded after each operator.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_prefix,
    .cost_text = "max(64, 2N)",
};

}  // namespace kiln::isa
