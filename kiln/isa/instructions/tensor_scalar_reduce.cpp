#include <fmt/format.h>

#include "kiln/isa/instructions/shared/accumulator.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/instructions/shared/vector_operator.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::isa::instruction::tensor_scalar_reduce {
namespace {
using namespace args::tensor_scalar_reduce;

// R2 to R5: vector_operator.cpp.
constexpr Rule kSameShape{1, words::kDataAndDstShape};
constexpr Rule kUnaryOperand{4, "a unary op0 takes no operand0, or 0", "leave operand0 out"};
constexpr Rule kOperandColumn{5, "an operand0 tile has one value per partition", "slice operand0 to (P, 1)"};
constexpr Rule kOperandGiven{6, "a binary op0 takes operand0", "give operand0"};
constexpr Rule kReduceOp{7, "reduce_op is add, multiply, maximum or minimum",
                         "negate the result with reduce_res_negate to subtract"};
constexpr Rule kReduceCmd{8, "reduce_cmd is reduce, reset_reduce or load_reduce",
                          "use tensor_scalar when nothing is to be reduced"};
constexpr Rule kReduceInitUsed{9, "reduce_init is given with load_reduce and with no other reduce_cmd",
                               "give reduce_init and reduce_cmd=load_reduce together"};
constexpr Rule kReduceInitColumn{10, words::kReduceInitColumn};
constexpr Rule kReduceResColumn{11, words::kReduceResColumn};
constexpr Rule kNotReversed{12, "reverse0 is False: it is not supported yet", "rewrite op0 so that data comes first"};
constexpr Rule kStarted{13, words::kStarted};
constexpr Rule kOneOperator{14, words::kOneOperator};

constexpr Rule kRules[] = {kSameShape,
                           vector_operator_rules::kArithmetic,
                           vector_operator_rules::kGeneration,
                           kUnaryOperand,
                           kOperandColumn,
                           kOperandGiven,
                           kReduceOp,
                           kReduceCmd,
                           kReduceInitUsed,
                           kReduceInitColumn,
                           kReduceResColumn,
                           kNotReversed,
                           kStarted,
                           kOneOperator};

Reduction reduction(const InstView& v) {
  return {.bit = kVectorAccumulators,
          .cmd = v.get<ReduceCmd>(reduce_cmd),
          .op = v.alu(reduce_op),
          .dst = dst,
          .reduce_res = reduce_res,
          .init = reduce_init,
          .negate = v.boolean(reduce_res_negate)};
}

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  check_vector_operator(c, op0, operand0, data, kUnaryOperand, kOperandColumn);
  c.require(kOperandGiven, is_unary(c.alu(op0)) || c.has(operand0),
            [&] { return fmt::format("op0 is {} and operand0 is not given", name(c.alu(op0))); });
  const AluOp reduce = c.alu(reduce_op);
  c.require(kReduceOp,
            reduce == AluOp::add || reduce == AluOp::multiply || reduce == AluOp::maximum || reduce == AluOp::minimum,
            reduce_op, [&] { return fmt::format("reduce_op is {}", name(reduce)); });
  const ReduceCmd cmd = c.get<ReduceCmd>(reduce_cmd);
  const bool loads = cmd == ReduceCmd::load_reduce;
  c.require(kReduceCmd, cmd != ReduceCmd::idle && cmd != ReduceCmd::reset, reduce_cmd,
            [&] { return fmt::format("reduce_cmd is {}", cmd == ReduceCmd::idle ? "idle" : "reset"); });
  c.require(kReduceInitUsed, loads == c.has(reduce_init), [&] {
    return fmt::format("reduce_init is {}given and reduce_cmd is {}load_reduce", c.has(reduce_init) ? "" : "not ",
                       loads ? "" : "not ");
  });
  if (c.is_tile(reduce_init)) c.require(kReduceInitColumn, c.is_column(reduce_init, c.partitions(data)), reduce_init);
  if (c.has(reduce_res)) c.require(kReduceResColumn, c.is_column(reduce_res, c.partitions(data)), reduce_res);
  c.require(kNotReversed, !c.boolean(reverse0), reverse0, [&] { return "reverse0 is True"; });
}

void run(Run& r) {
  map_and_reduce(
      r, reduction(r), {&r.tile(data)},
      [&](const RowChunk& c) { c.tell(apply_operand(r, r.alu(op0), false, c, c.in[0], operand0, c.out)); },
      Walk::by_rows);
}

Cost cost(const CostQuery& q) {
  return {.cycles = q.stream(static_cast<double>(q.free_size(data))) + q.spec().min_interval_cycles};
}

void track(Track& t) {
  track_reduction(t, reduction(t), {.undefined = &kStarted, .mixed = &kOneOperator}, overlay(t, dst, {data, operand0}));
}

unsigned state(const InstView&) { return kVectorAccumulators; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "t = op0(data, operand0) in float32; dst = cvt(t). The accumulators: reset_reduce starts at the identity of "
        "reduce_op (0, 1, -Inf, +Inf), load_reduce at reduce_init, reduce goes on; each folds the row's t in ascending "
        "order. reduce_res = cvt(accumulators), or cvt(-accumulators) with reduce_res_negate, which leaves the "
        "accumulators as they are.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N) + 64",
    .state = state,
    .facts = {.in_place = param_bit(data), .walks = true},
};

}  // namespace kiln::isa::instruction::tensor_scalar_reduce
