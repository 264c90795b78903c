#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::tensor_reduce {
namespace {
using namespace args::tensor_reduce;

constexpr Rule kAxis{
    1, "axis names the last free dimensions of data, each once and without a gap, never the partition dimension",
    "for a 4-dimensional tile pass (3,), (2, 3) or (1, 2, 3); reduce partitions with nc_matmul"};
constexpr Rule kDstShape{
    2, "dst has the partitions of data and one free element for each element that is kept",
    "allocate dst with the dimensions of data that axis leaves out, or (P, 1) when it names them all"};
constexpr Rule kOperator{3, "op is add, subtract, multiply, maximum, minimum, a logical or a bitwise operator",
                         "other operators have no reduction; reduce with an operator of the list"};
constexpr Rule kBitWidths{4, words::kBitWidths};
constexpr Rule kNegateArithmetic{5, "negate needs an arithmetic operator",
                                 "leave negate out and invert with tensor_scalar"};

constexpr Rule kRules[] = {kAxis, kDstShape, kOperator, kBitWidths, kNegateArithmetic};

// How many dimensions axis reduces, 0 when it breaks R1. Negative ones count from the end.
int reduced_dims(const InstView& v) {
  const auto axes = v.integers(axis);
  const int rank = v.rank(data), n = static_cast<int>(axes.size());
  unsigned seen = 0;
  for (std::int64_t a : axes) {
    if (a < 0) a += rank;
    if (a < 1 || a >= rank || a < rank - n || seen >> a & 1) return 0;
    seen |= 1u << a;
  }
  return n;
}

// Elements of data that make one element of dst: a run of the row.
std::int64_t group_size(const InstView& v) {
  std::int64_t n = 1;
  for (int d = v.rank(data) - reduced_dims(v); d < v.rank(data); ++d) n *= v.dim(data, d);
  return n;
}

void check(Check& c) {
  const AluInfo& alu = info(c.alu(op));
  const bool axis_ok = reduced_dims(c) > 0;
  c.require(kAxis, axis_ok, [&] {
    return fmt::format("axis is ({}) and data is {}", fmt::join(c.integers(axis), ", "), shape_text(c.access(data)));
  });
  if (axis_ok) {
    const std::int64_t kept = c.free_size(data) / group_size(c);
    c.require(kDstShape, c.partitions(dst) == c.partitions(data) && c.free_size(dst) == kept, [&] {
      return fmt::format("dst is {}, data is {} and keeps {} per partition", shape_text(c.access(dst)),
                         shape_text(c.access(data)), kept);
    });
  }
  c.require(kOperator, alu.reduces && c.alu(op) != AluOp::average, op,
            [&] { return fmt::format("op is {}", alu.name); });
  if (!is_bitvec(c.alu(op))) return;
  c.require(
      kBitWidths,
      is_integer(c.dtype(dst)) && is_integer(c.dtype(data)) && size_bytes(c.dtype(dst)) == size_bytes(c.dtype(data)),
      [&] { return fmt::format("{} of {} into {}", alu.name, name(c.dtype(data)), name(c.dtype(dst))); });
  c.require(kNegateArithmetic, !c.boolean(negate),
            [&] { return fmt::format("negate is given and op is {}", alu.name); });
}

std::uint32_t fold_bits(AluOp o, const std::uint32_t* x, std::int64_t n) {
  if (o == AluOp::bitwise_and) return std::accumulate(x + 1, x + n, *x, std::bit_and<>());
  if (o == AluOp::bitwise_or) return std::accumulate(x + 1, x + n, *x, std::bit_or<>());
  return std::accumulate(x + 1, x + n, *x, std::bit_xor<>());
}

// A group of narrow elements as words of 32 bits, whose parts are folded in the end.
std::uint32_t fold_words(AluOp o, const std::byte* from, std::int64_t words, int width) {
  constexpr std::int64_t kPiece = 256;
  std::uint32_t piece[kPiece], all = 0;
  for (std::int64_t done = 0; done < words; done += kPiece) {
    const std::int64_t n = std::min(kPiece, words - done);
    std::memcpy(piece, from + 4 * done, 4 * n);
    const std::uint32_t pair[] = {fold_bits(o, piece, n), all};
    all = fold_bits(o, pair, done == 0 ? 1 : 2);
  }
  for (int half = 16; half >= width; half /= 2) {
    const std::uint32_t pair[] = {all, all >> half};
    all = fold_bits(o, pair, 2);
  }
  return all & (0xffffffffu >> (32 - width));
}

// Rows without gaps, of whole words; false for others.
bool run_words(const Run& r, std::int64_t size) {
  const Tile &d = r.tile(dst), &x = r.tile(data);
  const std::int64_t bytes = size * x.element_bytes();
  if (x.element_bytes() == 4 || bytes % 4 != 0 || !x.row_is_contiguous() || x.row_offset) return false;
  std::vector<std::uint32_t> out(d.free_size);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::size_t g = 0; g < out.size(); ++g)
      out[g] = fold_words(r.alu(op), x.row(row) + static_cast<std::int64_t>(g) * bytes, bytes / 4,
                          static_cast<int>(8 * x.element_bytes()));
    store_row_bits(r, d, row, 0, out.size(), out.data());
  }
  return true;
}

void run_bits(Run& r) {
  const Tile &d = r.tile(dst), &x = r.tile(data);
  const std::int64_t size = group_size(r);
  if (run_words(r, size)) return;
  std::vector<std::uint32_t> row_bits(x.free_size), out(d.free_size);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    load_row_bits(r, x, row, 0, row_bits.size(), row_bits.data());
    for (std::size_t g = 0; g < out.size(); ++g) out[g] = fold_bits(r.alu(op), &row_bits[g * size], size);
    store_row_bits(r, d, row, 0, out.size(), out.data());
  }
}

void store_results(Run& r, const Tile& to, std::int64_t row, std::int64_t first, std::size_t n, float* values) {
  if (r.boolean(negate)) r.k.alu_vs(AluOp::multiply, values, -1.0f, values, n);
  store_row(r, to, row, first, n, values);
}

void store_results(Run& r, std::int64_t row, std::int64_t first, std::size_t n, float* values) {
  store_results(r, r.tile(dst), row, first, n, values);
}

// Results of `groups` columns, one column after the other: false where they are not floats side by side in each row.
bool store_columns(Run& r, std::vector<float>& values, std::int64_t groups) {
  const Tile& to = r.tile(dst);
  if (to.dtype != DType::float32 || !to.row_is_contiguous()) return false;
  if (r.boolean(negate)) r.k.alu_vs(AluOp::multiply, values.data(), -1.0f, values.data(), values.size());
  for (std::int64_t row = 0; row < to.rows; ++row) {
    if (to.row_offset && to.row_offset[row] == kSkipRow) continue;
    auto* out = reinterpret_cast<float*>(to.row(row));
    for (std::int64_t g = 0; g < groups; ++g) out[g] = values[g * to.rows + row];
  }
  return true;
}

// One result per row, in one piece where they lie together.
void store_column(Run& r, std::vector<float>& values) {
  Tile to = r.tile(dst);
  if (to.is_dense()) {
    flatten(to);
    return store_results(r, to, 0, 0, values.size(), values.data());
  }
  for (std::size_t row = 0; row < values.size(); ++row)
    store_results(r, static_cast<std::int64_t>(row), 0, 1, &values[row]);
}

// acc[i] = fold of row i, `stride` floats apart, from its first element on. Where a start value leaves the
// first element as it is, sign of zero included, the fold takes whole rows; else it takes the rest of them.
void fold(const Run& r, const float* x, std::ptrdiff_t stride, std::size_t rows, std::size_t n, float* acc) {
  const AluOp o = r.alu(op);
  if (o == AluOp::add || o == AluOp::multiply) {
    std::fill_n(acc, rows, o == AluOp::add ? -0.0f : 1.0f);
    return r.k.fold_rows(o, x, stride, rows, n, acc);
  }
  for (std::size_t i = 0; i < rows; ++i) acc[i] = x[static_cast<std::ptrdiff_t>(i) * stride];
  r.k.fold_rows(o, x + 1, stride, rows, n - 1, acc);
}

// Many short groups in a row: element j of many groups at once.
void run_short_groups(Run& r, std::int64_t size) {
  const Tile& x = r.tile(data);
  alignas(64) float scratch[kChunk], columns[kChunk];
  const std::int64_t groups = x.free_size / size, piece = static_cast<std::int64_t>(kChunk) / size;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t g = 0; g < groups; g += piece) {
      const std::int64_t n = std::min(piece, groups - g);
      const float* values = load_row(r, x, row, g * size, n * size, scratch);
      size == 1 ? std::copy_n(values, n, columns), void() : r.k.transpose(4, values, size, columns, n, n, size);
      for (std::int64_t j = 1; j < size; ++j) r.k.alu_vv(r.alu(op), columns, columns + j * n, columns, n);
      store_results(r, row, g, n, columns);
    }
  }
}

// A view whose groups lie across the memory: neighbours belong to different groups, so element j of all
// groups is read in one piece.
bool lies_across(const Tile& x, std::int64_t size) {
  return !x.column && x.free_rank == 2 && x.free[1].count == size &&
         std::abs(x.free[0].stride) < std::abs(x.free[1].stride);
}

void run_across(Run& r, std::int64_t size) {
  Tile x = r.tile(data);
  const std::int64_t groups = x.free[0].count, step = x.free[1].stride * x.element_bytes();
  std::byte* const start = x.data;
  x.free_rank = 1;
  x.free_size = groups;
  alignas(64) float acc[kChunk], scratch[kChunk];
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t g = 0; g < groups; g += kChunk) {
      const std::size_t n = std::min<std::size_t>(kChunk, groups - g);
      x.data = start;
      std::copy_n(load_row(r, x, row, g, n, scratch), n, acc);
      for (std::int64_t j = 1; j < size; ++j) {
        x.data = start + j * step;
        r.k.alu_vv(r.alu(op), acc, load_row(r, x, row, g, n, scratch), acc, n);
      }
      store_results(r, row, g, n, acc);
    }
  }
}

// Folds 8 rows of a group at a time, converted piece by piece.
void fold_converted(const Run& r, const Tile& x, std::int64_t group, std::int64_t size, float* acc) {
  constexpr std::int64_t kRows = 8, kColumns = 512;
  alignas(64) float block[kRows][kColumns];
  for (std::int64_t row = 0; row < x.rows; row += kRows) {
    const std::int64_t rows = std::min(kRows, x.rows - row);
    for (std::int64_t first = 0; first < size; first += kColumns) {
      const std::int64_t n = std::min(kColumns, size - first);
      for (std::int64_t i = 0; i < rows; ++i) load_row(r, x, row + i, group * size + first, n, block[i]);
      if (first == 0) {
        fold(r, block[0], kColumns, rows, n, acc + row);
      } else {
        r.k.fold_rows(r.alu(op), block[0], kColumns, rows, n, acc + row);
      }
    }
  }
}

// A row as it lies in memory, each element once, for operators to which order and repetition are the same.
Tile in_memory_order(const Tile& of) {
  Tile x = of;
  if (x.column) return x;
  Dim sorted[kMaxOperandRank];
  const Dim* end = std::copy_if(x.free, x.free + x.free_rank, sorted, [](const Dim& d) { return d.stride != 0; });
  const auto rank = static_cast<int>(end - sorted);
  std::ranges::stable_sort(sorted, sorted + rank, std::greater<>(), &Dim::stride);
  x.free_size = 1;
  for (int d = 0; d < rank; ++d) x.free_size *= sorted[d].count;
  x.free_rank = static_cast<std::uint8_t>(merge_dims(sorted, rank, x.free));
  return x;
}

// Few or long groups: each is folded over all partitions side by side.
void run_long_groups(Run& r, std::int64_t size) {
  const bool any_order = r.alu(op) == AluOp::maximum || r.alu(op) == AluOp::minimum;
  const bool one_group = size == r.tile(data).free_size;
  const Tile x = any_order && one_group ? in_memory_order(r.tile(data)) : r.tile(data);
  if (one_group) size = x.free_size;
  const std::int64_t groups = x.free_size / size;
  const bool in_place = x.dtype == DType::float32 && x.row_is_contiguous();
  std::vector<float> acc(x.rows * groups), out(groups);
  for (std::int64_t g = 0; g < groups; ++g) {
    float* of_group = &acc[g * x.rows];
    if (in_place) {
      const float* start = reinterpret_cast<const float*>(x.row(0)) + g * size;
      fold(r, start, x.row_bytes / 4, x.rows, size, of_group);
    } else {
      fold_converted(r, x, g, size, of_group);
    }
  }
  if (groups == 1 && r.tile(dst).is_dense()) return store_column(r, acc);
  if (store_columns(r, acc, groups)) return;
  if (groups == 1) return store_column(r, acc);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t g = 0; g < groups; ++g) out[g] = acc[g * x.rows + row];
    store_results(r, row, 0, groups, out.data());
  }
}

void run(Run& r) {
  if (is_bitvec(r.alu(op))) return run_bits(r);
  const std::int64_t size = group_size(r), groups = r.tile(data).free_size / size;
  constexpr std::int64_t kSideBySide = 16;  // fewer groups than this are not worth a piece of their own
  if (groups >= kSideBySide && lies_across(r.tile(data), size)) return run_across(r, size);
  if (groups >= kSideBySide && size * kSideBySide <= static_cast<std::int64_t>(kChunk))
    return run_short_groups(r, size);
  run_long_groups(r, size);
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(data)))}; }

// An element of dst depends on its own group only.
void track(Track& t) {
  if (t.is_clean(data)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(data);
  const std::int64_t size = group_size(t);
  std::vector<Shadow> out(in.size() / size);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (out[i / size] == 0) out[i / size] = in[i];
  }
  t.write(dst, out);
}

// One result per partition: it is written when the row has been read.
bool reads_first(const InstView& v) { return v.access(dst).count() == v.access(dst).rows(); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "r = x0, then r = op(r, xi) over the elements that axis names, in row-major order, each step rounded to "
        "float32; dst = cvt(r), or cvt(-r) with negate. Bit operators work on raw bits. keepdims changes the shape of "
        "dst, not its elements.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N), N elements of data per partition",
    .facts = {.reads_first = reads_first},
};

}  // namespace kiln::isa::instruction::tensor_reduce
