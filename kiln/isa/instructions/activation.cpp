#include "kiln/isa/instructions/shared/activation_common.h"
#include "kiln/isa/instructions/shared/rule_words.h"

namespace kiln::isa::instruction::activation {
namespace {
using namespace args::activation;

// R1 to R12 are those of activation_reduce too (activation_common.cpp).
constexpr Rule kReduceOp{8, "reduce_op is add", "reduce with tensor_reduce, or with activate2 on trn3"};
constexpr Rule kReduceCmd{13, words::kScalarReduceCmd};
constexpr Rule kReduceOpUsed{14, "reduce_op is given with a reduce_cmd other than idle; add when it is not",
                             "pass reduce_op=nl.add", Mark::undocumented};
constexpr Rule kStarted{15, words::kScalarStarted};
constexpr Rule kOneOperator{16, words::kOneOperator};

constexpr Rule kRules[] = {activation_rules::kSameShape,
                           activation_rules::kBiasColumn,
                           activation_rules::kBiasDtype,
                           activation_rules::kBiasTile,
                           activation_rules::kScaleColumn,
                           activation_rules::kNotPrelu,
                           activation_rules::kReciprocalBias,
                           kReduceOp,
                           activation_rules::kReduceResColumn,
                           activation_rules::kScatterIntoSbuf,
                           activation_rules::kInputRange,
                           activation_rules::kCopyBias,
                           kReduceCmd,
                           kReduceOpUsed,
                           kStarted,
                           kOneOperator};

constexpr ActivationParams kParams = {dst, op, data, bias, scale, reduce_op, reduce_res};

ReduceCmd command(const InstView& v) { return v.get<ReduceCmd>(reduce_cmd); }

void check(Check& c) {
  check_activation(c, kParams, kReduceOp);
  c.require(kReduceCmd, command(c) != ReduceCmd::load_reduce, reduce_cmd, [&] { return "reduce_cmd is load_reduce"; });
  c.advise(kReduceOpUsed, command(c) == ReduceCmd::idle || c.has(reduce_op),
           [&] { return "reduce_cmd is given, reduce_op is not"; });
}

void run(Run& r) { run_activation(r, kParams, command(r)); }

Cost cost(const CostQuery& q) { return cost_activation(q, kParams); }

void track(Track& t) {
  track_reduction(t, kParams.reduction(command(t)), {.undefined = &kStarted, .mixed = &kOneOperator},
                  overlay(t, dst, {data, bias, scale}));
}

unsigned state(const InstView& v) { return state_of(v, kActRegisters, command(v), reduce_res); }

int table(const InstView& v) { return table_of(v.act(op)); }

int repeats(const InstView& v) {
  const bool plain = v.act(op) == ActFn::copy && !v.is_tile(bias) && !v.is_tile(scale) && !v.is_tile(reduce_res);
  return plain ? static_cast<int>(data) : -1;
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "o = op(data * scale + bias) in float32, product and sum rounded one after the other; dst = cvt(o). The 128 "
        "reduction registers: reset sets them to 0, reduce adds the row's o in ascending order, reset_reduce does "
        "both, idle keeps them; reduce_res = cvt(registers), also with idle. When reduce_res aliases dst the reduction "
        "wins.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N), plus 64 to read the registers out",
    .state = state,
    .facts = {.argument = data, .in_place = param_bit(data), .walks = true, .table = table, .repeats = repeats},
};

}  // namespace kiln::isa::instruction::activation
