#include <fmt/format.h>

#include "kiln/isa/instructions/shared/accumulator.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::isa::instruction::exponential {
namespace {
using namespace args::exponential;

constexpr Rule kSameShape{1, words::kSrcAndDstShape};
constexpr Rule kFourDimensions{2, "src and dst have at most four dimensions",
                               "merge contiguous dimensions or split the access"};
constexpr Rule kMaxValueColumn{3, "a max_value tile has one value per partition", "slice max_value to (P, 1)"};
constexpr Rule kReduceResColumn{4, words::kReduceResColumn};
constexpr Rule kReduceCmd{5, "reduce_cmd is idle, reduce, reset_reduce or load_reduce",
                          "reset belongs to the scalar engine"};
constexpr Rule kReduceInitUsed{6, "reduce_init is 0 unless reduce_cmd is load_reduce", "use reduce_cmd=load_reduce"};
constexpr Rule kReduceResUsed{7, words::kReduceResUsed};
constexpr Rule kStarted{8, words::kStarted};
constexpr Rule kOneOperator{9, "a reduction goes on with the operator that it was started with, here add",
                            "start with reduce_cmd=reset_reduce", Mark::undocumented};
constexpr Rule kReduceInitColumn{10, words::kReduceInitColumn};

constexpr Rule kRules[] = {kSameShape,      kFourDimensions, kMaxValueColumn, kReduceResColumn, kReduceCmd,
                           kReduceInitUsed, kReduceResUsed,  kStarted,        kOneOperator,     kReduceInitColumn};

constexpr double kElementsPerCycle = 4;  // four times the scalar engine's exp

Reduction reduction(const InstView& v) {
  return {.bit = kVectorAccumulators,
          .cmd = v.get<ReduceCmd>(reduce_cmd),
          .op = AluOp::add,
          .dst = dst,
          .reduce_res = reduce_res,
          .init = reduce_init};
}

void check(Check& c) {
  const std::int64_t rows = c.partitions(src);
  c.require(kSameShape, c.same_shape(dst, src),
            [&] { return fmt::format("dst is {}, src is {}", shape_text(c.access(dst)), shape_text(c.access(src))); });
  c.require(kFourDimensions, c.rank(dst) <= 4 && c.rank(src) <= 4,
            [&] { return fmt::format("dst is {}, src is {}", shape_text(c.access(dst)), shape_text(c.access(src))); });
  if (c.is_tile(max_value)) c.require(kMaxValueColumn, c.is_column(max_value, rows), max_value);
  if (c.has(reduce_res)) c.require(kReduceResColumn, c.is_column(reduce_res, rows), reduce_res);
  const ReduceCmd cmd = c.get<ReduceCmd>(reduce_cmd);
  c.require(kReduceCmd, cmd != ReduceCmd::reset, reduce_cmd, [&] { return "reduce_cmd is reset"; });
  if (c.is_tile(reduce_init)) c.require(kReduceInitColumn, c.is_column(reduce_init, rows), reduce_init);
  const bool starts_at_zero = !c.is_tile(reduce_init) && c.real(reduce_init) == 0;
  c.require(kReduceInitUsed, cmd == ReduceCmd::load_reduce || starts_at_zero, reduce_init, [&] {
    return c.is_tile(reduce_init) ? c.describe(reduce_init) : fmt::format("reduce_init is {}", c.real(reduce_init));
  });
  c.require(kReduceResUsed, cmd != ReduceCmd::idle || !c.has(reduce_res),
            [&] { return "reduce_res is given and reduce_cmd is idle"; });
}

void run(Run& r) {
  const auto body = [&](const RowChunk& c) {
    if (c.width && r.is_tile(max_value)) {
      apply_operand(r, AluOp::subtract, false, c, c.in[0], max_value, c.out);
      return c.tell(r.k.activation(ActFn::exp, c.out, 0.0f, c.out, c.n));
    }
    // Adding -max_value to the exact product src * 1 is the subtraction, rounded once.
    c.tell(r.k.scaled_activation(ActFn::exp, c.in[0], 1.0f, -r.column(max_value, c.row), 0.0f, c.out, c.n));
  };
  map_and_reduce(r, reduction(r), {&r.tile(src)}, body, Walk::by_rows);
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(src)), kElementsPerCycle)}; }

void track(Track& t) {
  track_reduction(t, reduction(t), {.undefined = &kStarted, .mixed = &kOneOperator}, overlay(t, dst, {src, max_value}));
}

unsigned state(const InstView& v) { return state_of(v, kVectorAccumulators, v.get<ReduceCmd>(reduce_cmd), reduce_res); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "v = e^(src - max_value) in float32, the difference rounded first; dst = cvt(v). The accumulators: "
        "reset_reduce starts at 0, load_reduce at reduce_init, reduce goes on; each adds the row's v in ascending "
        "order; reduce_res = cvt(accumulators). idle leaves the accumulators undefined.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N / 4)",
    .state = state,
    .facts = {.in_place = param_bit(src), .walks = true},
};

}  // namespace kiln::isa::instruction::exponential
