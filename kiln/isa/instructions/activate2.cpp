#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/instructions/shared/activation_common.h"
#include "kiln/isa/instructions/shared/rule_words.h"

namespace kiln::isa::instruction::activate2 {
namespace {
using namespace args::activate2;

constexpr Rule kSameShape{1, words::kDataAndDstShape};
constexpr Rule kOperators{2,
                          "(op0, op1) is (multiply, add), (multiply, subtract), (multiply, bypass), (add, bypass), "
                          "(subtract, bypass) or (bypass, bypass)",
                          "split the computation, or use tensor_scalar for the operators"};
constexpr Rule kImmediateColumns{3, "imm0, imm1 and relu_param are numbers or tiles with one value per partition",
                                 "slice the tile to (P, 1)"};
constexpr Rule kImmediateDtype{4, "imm0 and imm1 have one dtype when both are tiles",
                               "convert one of them with tensor_copy"};
constexpr Rule kBypassNotReversed{5, "an operator that is bypass is not reversed", "leave reverse0 or reverse1 out"};
constexpr Rule kReduceOp{6, "reduce_op is add, maximum, minimum, abs_max or abs_min",
                         "reduce with tensor_reduce instead"};
constexpr Rule kReduceCmd{7, words::kScalarReduceCmd};
constexpr Rule kReduceOpUsed{8, "reduce_op is given with a reduce_cmd other than idle; add when it is not",
                             "pass reduce_op", Mark::undocumented};
constexpr Rule kReduceResColumn{9, words::kReduceResColumn};
constexpr Rule kScatterIntoSbuf{10, words::kScatterIntoSbuf};
constexpr Rule kInputRange{11, words::kInputRange};
constexpr Rule kStarted{12, words::kScalarStarted};
constexpr Rule kOneOperator{13, words::kOneOperator};

constexpr Rule kRules[] = {kSameShape,  kOperators, kImmediateColumns, kImmediateDtype,  kBypassNotReversed,
                           kReduceOp,   kReduceCmd, kReduceOpUsed,     kReduceResColumn, kScatterIntoSbuf,
                           kInputRange, kStarted,   kOneOperator};

bool is_allowed_pair(AluOp first, AluOp second) {
  using enum AluOp;
  if (second == bypass) return first == multiply || first == add || first == subtract || first == bypass;
  return first == multiply && (second == add || second == subtract);
}

bool is_allowed_reduction(AluOp o) {
  return o == AluOp::add || o == AluOp::maximum || o == AluOp::minimum || o == AluOp::abs_max || o == AluOp::abs_min;
}

Reduction reduction(const InstView& v) {
  return {.bit = kActRegisters,
          .cmd = v.get<ReduceCmd>(reduce_cmd),
          .op = v.has(reduce_op) ? v.alu(reduce_op) : AluOp::add,
          .dst = dst,
          .reduce_res = reduce_res};
}

void check_operators(Check& c) {
  c.require(kOperators, is_allowed_pair(c.alu(op0), c.alu(op1)),
            [&] { return fmt::format("op0 is {}, op1 is {}", name(c.alu(op0)), name(c.alu(op1))); });
  for (int param : {int{imm0}, int{imm1}, int{relu_param}}) {
    if (c.is_tile(param)) c.require(kImmediateColumns, c.is_column(param, c.partitions(data)), param);
  }
  c.require(kImmediateDtype, !c.is_tile(imm0) || !c.is_tile(imm1) || c.dtype(imm0) == c.dtype(imm1),
            [&] { return fmt::format("imm0 is {}, imm1 is {}", name(c.dtype(imm0)), name(c.dtype(imm1))); });
  c.require(kBypassNotReversed, !(c.boolean(reverse0) && c.alu(op0) == AluOp::bypass),
            [&] { return "reverse0 is given and op0 is bypass"; });
  c.require(kBypassNotReversed, !(c.boolean(reverse1) && c.alu(op1) == AluOp::bypass),
            [&] { return "reverse1 is given and op1 is bypass"; });
}

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  check_operators(c);
  const ReduceCmd cmd = c.get<ReduceCmd>(reduce_cmd);
  c.require(kReduceOp, !c.has(reduce_op) || is_allowed_reduction(c.alu(reduce_op)), reduce_op,
            [&] { return fmt::format("reduce_op is {}", name(c.alu(reduce_op))); });
  c.require(kReduceCmd, cmd != ReduceCmd::load_reduce, reduce_cmd, [&] { return "reduce_cmd is load_reduce"; });
  c.advise(kReduceOpUsed, cmd == ReduceCmd::idle || c.has(reduce_op),
           [&] { return "reduce_cmd is given, reduce_op is not"; });
  if (c.has(reduce_res)) c.require(kReduceResColumn, c.is_column(reduce_res, c.partitions(dst)), reduce_res);
  c.require(kScatterIntoSbuf, !(c.is_indirect(dst) && c.in_psum(dst)), dst,
            [&] { return "dst is indirect and in PSUM"; });
}

void run(Run& r) {
  const auto body = [&](const RowChunk& c) {
    apply_operand(r, r.alu(op0), r.boolean(reverse0), c, c.in[0], imm0, c.out);
    if (r.alu(op1) != AluOp::bypass) apply_operand(r, r.alu(op1), r.boolean(reverse1), c, c.out, imm1, c.out);
    apply_activation(r, kInputRange, r.act(op), r.column(relu_param, c.row), c);
  };
  map_and_reduce(r, reduction(r), {&r.tile(data)}, body, r.is_tile(relu_param) ? Walk::by_row : Walk::by_rows);
}

Cost cost(const CostQuery& q) {
  const double read_out = q.has(reduce_res) ? q.spec().min_interval_cycles : 0;
  return {.cycles = q.stream(static_cast<double>(q.free_size(data)), q.copy_rate(dst, data)) + read_out};
}

// A value that no operator uses does not reach dst.
void track(Track& t) {
  const int first = t.alu(op0) == AluOp::bypass ? int{data} : int{imm0};
  const int second = t.alu(op1) == AluOp::bypass ? int{data} : int{imm1};
  const int param = t.act(op) == ActFn::prelu ? int{relu_param} : int{data};
  track_reduction(t, reduction(t), {.undefined = &kStarted, .mixed = &kOneOperator},
                  overlay(t, dst, {data, first, second, param}));
}

unsigned state(const InstView& v) { return state_of(v, kActRegisters, v.get<ReduceCmd>(reduce_cmd), reduce_res); }

int table(const InstView& v) { return table_of(v.act(op)); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "v = op0(data, imm0), swapped with reverse0, or data when op0 is bypass; w = op1(v, imm1), swapped with "
        "reverse1, or v when op1 is bypass; o = op(w), prelu with relu_param; all in float32, one rounding per "
        "operator; dst = cvt(o). The reduction registers: reset sets them to the identity of reduce_op (abs_max: 0, "
        "abs_min: +Inf), reduce folds registers = reduce_op(registers, o) over the row in ascending order, "
        "reset_reduce does both, idle keeps them; reduce_res = cvt(registers).",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text =
        "max(64, N), max(64, N / 2) for 16-bit and 8-bit floats that are contiguous; plus 64 to read the registers out",
    .state = state,
    .facts = {.argument = data, .in_place = param_bit(data), .walks = true, .table = table},
};

}  // namespace kiln::isa::instruction::activate2
