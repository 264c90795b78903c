#include <fmt/format.h>

#include "kiln/isa/instructions/shared/accumulator.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/rows.h"

namespace kiln::isa::instruction::select_reduce {
namespace {
using namespace args::select_reduce;

constexpr Rule kNotBothPsum{1, "on_true and predicate are not both in PSUM",
                            "copy one of them to SBUF with tensor_copy first"};
constexpr Rule kSameShape{2, "predicate, on_true and dst have the same number of partitions and of free elements",
                          "slice them to one shape"};
constexpr Rule kOnTrueDtype{3, "on_true is not tfloat32, int32 or uint32", "convert on_true with tensor_copy"};
constexpr Rule kOnFalseColumn{4, "an on_false tile has one value per partition", "slice on_false to (P, 1)"};
constexpr Rule kReduceCmd{5, words::kSelectReduceCmd};
constexpr Rule kReduceOp{6, words::kReduceMaximum};
constexpr Rule kReduceResUsed{7, words::kReduceResUsed};
constexpr Rule kReduceResColumn{8, words::kReduceResColumn};
constexpr Rule kStarted{9, words::kSelectStarted};
constexpr Rule kOneOperator{10, words::kOneOperatorMaximum};

constexpr Rule kRules[] = {kNotBothPsum, kSameShape,     kOnTrueDtype,     kOnFalseColumn, kReduceCmd,
                           kReduceOp,    kReduceResUsed, kReduceResColumn, kStarted,       kOneOperator};

Reduction reduction(const InstView& v) {
  return {.bit = kVectorAccumulators,
          .cmd = v.get<ReduceCmd>(reduce_cmd),
          .op = AluOp::maximum,
          .dst = dst,
          .reduce_res = reduce_res};
}

void check_tiles(Check& c) {
  c.require(kNotBothPsum, !(c.in_psum(on_true) && c.in_psum(predicate)),
            [&] { return "on_true and predicate are both in PSUM"; });
  c.require(kSameShape, c.same_shape(dst, on_true) && c.same_shape(dst, predicate), [&] {
    return fmt::format("dst is {}, predicate is {}, on_true is {}", shape_text(c.access(dst)),
                       shape_text(c.access(predicate)), shape_text(c.access(on_true)));
  });
  const DType t = c.dtype(on_true);
  c.require(kOnTrueDtype, t != DType::tfloat32 && t != DType::int32 && t != DType::uint32, on_true);
  if (c.is_tile(on_false)) c.require(kOnFalseColumn, c.is_column(on_false, c.partitions(dst)), on_false);
}

void check(Check& c) {
  check_tiles(c);
  const ReduceCmd cmd = c.get<ReduceCmd>(reduce_cmd);
  c.require(kReduceCmd, cmd != ReduceCmd::reset && cmd != ReduceCmd::load_reduce, reduce_cmd,
            [&] { return fmt::format("reduce_cmd is {}", cmd == ReduceCmd::reset ? "reset" : "load_reduce"); });
  c.require(kReduceOp, c.alu(reduce_op) == AluOp::maximum, reduce_op,
            [&] { return fmt::format("reduce_op is {}", name(c.alu(reduce_op))); });
  c.require(kReduceResUsed, cmd != ReduceCmd::idle || !c.has(reduce_res),
            [&] { return "reduce_res is given and reduce_cmd is idle"; });
  if (c.has(reduce_res)) c.require(kReduceResColumn, c.is_column(reduce_res, c.partitions(dst)), reduce_res);
}

void run(Run& r) {
  const bool reverse = r.boolean(reverse_pred);
  alignas(64) float others[kChunk];
  const auto body = [&](const RowChunk& c) {
    if (c.width && r.is_tile(on_false)) {
      const float* other = spread_column(r, on_false, c, others);
      for (std::size_t i = 0; i < c.n; ++i) {
        const float value = c.in[0][i], otherwise = other[i];
        c.out[i] = (c.in[1][i] != 0) != reverse ? value : otherwise;
      }
      return;
    }
    const float otherwise = r.column(on_false, c.row);
    for (std::size_t i = 0; i < c.n; ++i) {
      const float value = c.in[0][i];  // read in any case, so that the loop has no branch
      c.out[i] = (c.in[1][i] != 0) != reverse ? value : otherwise;
    }
  };
  map_and_reduce(r, reduction(r), {&r.tile(on_true), &r.tile(predicate)}, body, Walk::by_rows);
}

Cost cost(const CostQuery& q) {
  const bool psum = q.in_psum(on_true) || q.in_psum(predicate);
  return {.cycles = q.stream(static_cast<double>(q.free_size(dst)), psum ? 1.0 : 0.5)};
}

// An element depends on the side that the predicate chooses; the predicate is a sink, so it has been written.
void track(Track& t) {
  std::vector<Shadow> chosen = overlay(t, dst, {on_true}), other = overlay(t, dst, {on_false});
  if (!chosen.empty() || !other.empty()) {
    const std::vector<std::uint32_t> truth = t.bits(predicate);
    chosen.resize(truth.size());
    other.resize(truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if ((truth[i] != 0) == t.boolean(reverse_pred)) chosen[i] = other[i];
    }
  }
  track_reduction(t, reduction(t), {.undefined = &kStarted, .mixed = &kOneOperator}, chosen);
}

unsigned state(const InstView& v) { return state_of(v, kVectorAccumulators, v.get<ReduceCmd>(reduce_cmd), reduce_res); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "v = on_true[p, f] when predicate[p, f] is nonzero (zero with reverse_pred), else on_false; dst = cvt(v). The "
        "accumulators: reset_reduce starts at -Inf, reduce goes on; each takes the maximum with the row's v in "
        "float32; reduce_res = cvt(accumulators). idle leaves the accumulators undefined.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, 2N), max(64, N) with one of on_true and predicate in PSUM",
    .state = state,
    .facts = {.in_place = param_bit(on_true), .walks = true},
};

}  // namespace kiln::isa::instruction::select_reduce
