#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kiln/isa/instructions/shared/affine_pattern.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::affine_select {
namespace {
using namespace args::affine_select;

constexpr Rule kSameShape{1, words::kOnTrueTileAndDstShape};
constexpr Rule kPatternPairs{2, words::kPatternPairs};
constexpr Rule kPatternCount{3, words::kPatternCount};
constexpr Rule kComparison{4, "cmp_op is equal, not_equal, greater, greater_equal, less or less_equal",
                           "pass a comparison"};
constexpr Rule kHardwareComparison{
    5, "cmp_op is equal, not_equal, greater or greater_equal; the hardware has no other comparison",
    "negate pattern, channel_multiplier and offset, and use greater or greater_equal", Mark::external};
constexpr Rule kInt32{6, words::kPatternInt32};

constexpr Rule kRules[] = {kSameShape, kPatternPairs, kPatternCount, kComparison, kHardwareComparison, kInt32};

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, on_true_tile), [&] {
    return fmt::format("dst is {}, on_true_tile is {}", shape_text(c.access(dst)), shape_text(c.access(on_true_tile)));
  });
  check_pattern(c, pattern, dst, kPatternPairs, kPatternCount);
  check_int32(c, pattern, channel_multiplier, offset, kInt32);
  const AluOp op = c.alu(cmp_op);
  const auto found = [&] { return fmt::format("cmp_op is {}", name(op)); };
  c.require(kComparison, is_comparison(op), found);
  c.advise(kHardwareComparison, op != AluOp::less && op != AluOp::less_equal, found);
}

// Calls fn with the comparison as a function of two numbers.
template <class Fn>
void with_comparison(AluOp op, Fn&& fn) {
  switch (op) {
    case AluOp::equal:
      return fn(std::equal_to<std::int32_t>{});
    case AluOp::not_equal:
      return fn(std::not_equal_to<std::int32_t>{});
    case AluOp::greater:
      return fn(std::greater<std::int32_t>{});
    case AluOp::greater_equal:
      return fn(std::greater_equal<std::int32_t>{});
    case AluOp::less:
      return fn(std::less<std::int32_t>{});
    default:
      return fn(std::less_equal<std::int32_t>{});
  }
}

template <class T>
void select(AluOp op, std::uint32_t base, const std::uint32_t* free, const T* yes, T no, T* out, std::size_t n) {
  with_comparison(op, [&](auto holds) {
    for (std::size_t i = 0; i < n; ++i) {
      const T value = yes[i];  // loaded in any case: no branch
      out[i] = holds(static_cast<std::int32_t>(base + free[i]), 0) ? value : no;
    }
  });
}

// Equal dtypes keep the bits of what is selected.
void run_bits(Run& r, const std::vector<std::uint32_t>& free) {
  const Tile &d = r.tile(dst), &t = r.tile(on_true_tile);
  const std::uint32_t no = from_float(d.dtype, static_cast<float>(r.real(on_false_value)));
  std::uint32_t bits[kChunk];
  for (std::int64_t row = 0; row < d.rows; ++row) {
    const std::uint32_t base = row_part(r.integer_or_register(offset), row, r.integer(channel_multiplier));
    for (std::int64_t first = 0; first < d.free_size; first += kChunk) {
      const std::size_t n = std::min<std::size_t>(kChunk, d.free_size - first);
      load_row_bits(r, t, row, first, n, bits);
      select(r.alu(cmp_op), base, &free[first], bits, no, bits, n);
      store_row_bits(r, d, row, first, n, bits);
    }
  }
}

void run(Run& r) {
  const Tile &d = r.tile(dst), &t = r.tile(on_true_tile);
  const std::vector<std::uint32_t> free = free_part(r.integers(pattern));
  if (d.dtype == t.dtype && d.dtype != DType::float32) return run_bits(r, free);
  const float no = static_cast<float>(r.real(on_false_value));
  map_rows(r, d, {&t}, Walk::by_row, [&](const RowChunk& c) {
    const std::uint32_t base = row_part(r.integer_or_register(offset), c.row, r.integer(channel_multiplier));
    select(r.alu(cmp_op), base, &free[c.first], c.in[0], no, c.out, c.n);
  });
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(dst)))}; }

// Elements that are not selected come from on_false_value.
void track(Track& t) {
  if (t.is_clean(on_true_tile)) return t.write_clean(dst);
  std::vector<Shadow> shadow = t.read(on_true_tile);
  const std::vector<std::uint32_t> free = free_part(t.integers(pattern));
  for (std::int64_t row = 0; row < t.partitions(dst); ++row) {
    Shadow* at = shadow.data() + row * static_cast<std::int64_t>(free.size());
    select<Shadow>(t.alu(cmp_op), row_part(t.integer_or_register(offset), row, t.integer(channel_multiplier)),
                   free.data(), at, 0, at, free.size());
  }
  t.write(dst, shadow);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "a = offset + p * channel_multiplier + w * sw + z * sz + y * sy + x * sx in int32, as for iota. dst[p, f] = "
        "cmp_op(a, 0) ? cvt(on_true_tile[p, f]) : cvt(on_false_value); equal dtypes keep the bits of on_true_tile.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "150 + N",
    .facts = {.in_place = param_bit(on_true_tile)},
};

}  // namespace kiln::isa::instruction::affine_select
