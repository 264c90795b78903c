#include <fmt/format.h>

#include <bit>
#include <cfloat>

#include "kiln/isa/instructions/shared/accumulator.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::isa::instruction::range_select {
namespace {
using namespace args::range_select;

constexpr Rule kSameShape{1, words::kOnTrueTileAndDstShape};
constexpr Rule kComparisons{2, "comp_op0 and comp_op1 are equal, less, less_equal, greater or greater_equal",
                            "express the range with two of these comparisons"};
constexpr Rule kBoundColumns{3, "bound0 and bound1 have one value per partition", "slice the bounds to (P, 1)"};
constexpr Rule kReduceOp{4, words::kReduceMaximum};
constexpr Rule kReduceCmd{5, words::kSelectReduceCmd};
constexpr Rule kReduceResUsed{6, words::kReduceResUsed};
constexpr Rule kReduceResColumn{7, words::kReduceResColumn};
constexpr Rule kOnFalseValue{8, "on_false_value is -3.4028235e38, the smallest float32",
                             "leave on_false_value out, and replace the value afterwards"};
constexpr Rule kIndexRange{
    9, "the indices range_start to range_start + F stay within 2^24, so that float32 holds them exactly",
    "lower range_start and the bounds by the same amount"};
constexpr Rule kStarted{10, words::kSelectStarted};
constexpr Rule kOneOperator{11, words::kOneOperatorMaximum};

constexpr Rule kRules[] = {kSameShape,       kComparisons,  kBoundColumns, kReduceOp, kReduceCmd,  kReduceResUsed,
                           kReduceResColumn, kOnFalseValue, kIndexRange,   kStarted,  kOneOperator};

constexpr std::int64_t kMaxIndex = 1 << 24;

Reduction reduction(const InstView& v) {
  return {.bit = kVectorAccumulators,
          .cmd = v.get<ReduceCmd>(reduce_cmd),
          .op = AluOp::maximum,
          .dst = dst,
          .reduce_res = reduce_res};
}

void check_range(Check& c) {
  for (int param : {int{comp_op0}, int{comp_op1}}) {
    c.require(kComparisons, is_comparison(c.alu(param)) && c.alu(param) != AluOp::not_equal,
              [&] { return fmt::format("{} is {}", c.row().params[param].name, name(c.alu(param))); });
  }
  for (int param : {int{bound0}, int{bound1}}) c.require(kBoundColumns, c.is_column(param, c.partitions(dst)), param);
  c.require(kOnFalseValue, static_cast<float>(c.real(on_false_value)) == -FLT_MAX, on_false_value,
            [&] { return fmt::format("on_false_value is {}", c.real(on_false_value)); });
  const std::int64_t first = c.integer(range_start);
  c.require(kIndexRange, first >= -kMaxIndex && first <= kMaxIndex - c.free_size(dst), range_start,
            [&] { return fmt::format("range_start is {} and a row has {} elements", first, c.free_size(dst)); });
}

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, on_true_tile), [&] {
    return fmt::format("dst is {}, on_true_tile is {}", shape_text(c.access(dst)), shape_text(c.access(on_true_tile)));
  });
  check_range(c);
  c.require(kReduceOp, c.alu(reduce_op) == AluOp::maximum, reduce_op,
            [&] { return fmt::format("reduce_op is {}", name(c.alu(reduce_op))); });
  const ReduceCmd cmd = c.get<ReduceCmd>(reduce_cmd);
  c.require(kReduceCmd, cmd != ReduceCmd::reset && cmd != ReduceCmd::load_reduce, reduce_cmd,
            [&] { return fmt::format("reduce_cmd is {}", cmd == ReduceCmd::reset ? "reset" : "load_reduce"); });
  c.require(kReduceResUsed, cmd != ReduceCmd::idle || !c.has(reduce_res),
            [&] { return "reduce_res is given and reduce_cmd is idle"; });
  if (c.has(reduce_res)) c.require(kReduceResColumn, c.is_column(reduce_res, c.partitions(dst)), reduce_res);
}

// kept[i]: 1 when element first + i of a row with these bounds is kept, else 0.
void compare(const InstView& v, const Kernels& k, std::int64_t first, std::size_t n, float bound_0, float bound_1,
             float* kept) {
  alignas(64) float index[kChunk];
  const auto start = static_cast<std::int32_t>(v.integer(range_start) + first);
  for (std::size_t i = 0; i < n; ++i) index[i] = static_cast<float>(start + static_cast<std::int32_t>(i));
  k.alu_vs(v.alu(comp_op0), index, bound_0, kept, n);
  k.alu_vs(v.alu(comp_op1), index, bound_1, index, n);
  k.alu_vv(AluOp::multiply, kept, index, kept, n);
}

void run(Run& r) {
  map_and_reduce(r, reduction(r), {&r.tile(on_true_tile)}, [&](const RowChunk& c) {
    alignas(64) float kept[kChunk];
    compare(r, r.k, c.first, c.n, r.column(bound0, c.row), r.column(bound1, c.row), kept);
    for (std::size_t i = 0; i < c.n; ++i) {
      const float value = c.in[0][i];  // read in any case, so that the loop has no branch
      c.out[i] = kept[i] != 0 ? value : -FLT_MAX;
    }
  });
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(dst)))}; }

// An element that is not kept depends on nothing; the bounds are sinks, so they have been written.
void track(Track& t) {
  std::vector<Shadow> grid = overlay(t, dst, {on_true_tile});
  if (!grid.empty()) {
    const std::vector<std::uint32_t> b0 = t.bits(bound0), b1 = t.bits(bound1);
    const std::int64_t n = t.free_size(dst);
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / n, f = static_cast<std::int64_t>(i) % n;
      float kept;
      compare(t, plain_kernels(), f, 1, std::bit_cast<float>(b0[row]), std::bit_cast<float>(b1[row]), &kept);
      if (kept == 0) grid[i] = 0;
    }
  }
  track_reduction(t, reduction(t), {.undefined = &kStarted, .mixed = &kOneOperator}, grid);
}

unsigned state(const InstView& v) { return state_of(v, kVectorAccumulators, v.get<ReduceCmd>(reduce_cmd), reduce_res); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "i = range_start + f; v = on_true_tile[p, f] when comp_op0(i, bound0[p]) and comp_op1(i, bound1[p]), else "
        "-3.4028235e38, the smallest float32; dst = cvt(v), where 16-bit and 8-bit floats hold -Inf. The accumulators: "
        "reset_reduce starts at -Inf, reduce goes on; each takes the maximum with the row's v; reduce_res = "
        "cvt(accumulators). idle leaves the accumulators undefined.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N)",
    .state = state,
    .facts = {.in_place = param_bit(on_true_tile), .walks = true},
};

}  // namespace kiln::isa::instruction::range_select
