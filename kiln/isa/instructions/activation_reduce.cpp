#include "kiln/isa/instructions/shared/activation_common.h"

namespace kiln::isa::instruction::activation_reduce {
namespace {
using namespace args::activation_reduce;

// Numbered as in activation (activation_common.cpp).
constexpr Rule kReduceOp{8, "reduce_op is add (documented for gen2, assumed for the others)",
                         "reduce with tensor_reduce, or with activate2 on trn3"};

constexpr Rule kRules[] = {activation_rules::kSameShape,       activation_rules::kBiasColumn,
                           activation_rules::kBiasDtype,       activation_rules::kBiasTile,
                           activation_rules::kScaleColumn,     activation_rules::kNotPrelu,
                           activation_rules::kReciprocalBias,  kReduceOp,
                           activation_rules::kReduceResColumn, activation_rules::kScatterIntoSbuf,
                           activation_rules::kInputRange,      activation_rules::kCopyBias};

constexpr ActivationParams kParams = {dst, op, data, bias, scale, reduce_op, reduce_res};

void check(Check& c) { check_activation(c, kParams, kReduceOp); }

void run(Run& r) { run_activation(r, kParams, ReduceCmd::reset_reduce); }

Cost cost(const CostQuery& q) { return cost_activation(q, kParams); }

void track(Track& t) {
  // reset_reduce depends on nothing that came before, so no rule of the state can break.
  track_reduction(t, kParams.reduction(ReduceCmd::reset_reduce), {}, overlay(t, dst, {data, bias, scale}));
}

unsigned state(const InstView&) { return kActRegisters; }

int table(const InstView& v) { return table_of(v.act(op)); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "activation with reduce_cmd=reset_reduce: o = op(data * scale + bias); dst = cvt(o); the reduction registers = "
        "sum over the row of o in float32, ascending; reduce_res = cvt(registers). Without reduce_res the sums stay in "
        "the registers for a later activation.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N), plus 64 to read the registers out",
    .state = state,
    .facts = {.argument = data, .in_place = param_bit(data), .walks = true, .table = table},
};

}  // namespace kiln::isa::instruction::activation_reduce
