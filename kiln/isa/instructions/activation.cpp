#include "kiln/isa/instructions/shared/activation_common.h"

namespace kiln::isa {
namespace {
using namespace args::activation;

// R1 to R12 are those of activation_reduce too (activation_common.cpp).
constexpr Rule kRules[] = {
    /* R1 */ {"data and dst have the same number of partitions and of free elements", "slice them to one shape"},
    /* R2 */ {"a bias tile has one value per partition", "slice bias to (P, 1)"},
    /* R3 */ {"bias is not tfloat32", "view or copy bias as float32"},
    /* R4 */ {"bias is a tile on gen2", "put the number into a (P, 1) tile with memset"},
    /* R5 */ {"a scale tile has one value per partition", "slice scale to (P, 1)"},
    /* R6 */ {"op is not prelu, which needs relu_param", "use activate2, which has relu_param"},
    /* R7 */ {"reciprocal takes no bias on gen2", "add the bias with tensor_scalar first"},
    /* R8 */ {"reduce_op is add", "reduce with tensor_reduce, or with activate2 on trn3"},
    /* R9 */ {"reduce_res has one value per partition", "allocate reduce_res as (P, 1)"},
    /* R10 */ {"an indirect dst is not in PSUM", "scatter into SBUF"},
    /* R11 */
    {"the input of the function lies in the range where the hardware's result is valid",
     "scale or clamp the input into the range"},
    /* R12 */
    {"copy takes no bias on gen2, where it was seen to be left out", "add the bias with tensor_scalar", Mark::external},
    /* R13 */
    {"reduce_cmd is idle, reset, reduce or reset_reduce", "load_reduce belongs to the vector engine"},
    /* R14 */
    {"reduce_op is given with a reduce_cmd other than idle; add when it is not", "pass reduce_op=nl.add",
     Mark::undocumented},
    /* R15 */
    {"reduce, and reading out without a command, need a reduction that was started",
     "start with reduce_cmd=reset_reduce", Mark::undocumented},
    /* R16 */
    {"a reduction goes on with the operator that it was started with", "start with reduce_cmd=reset_reduce",
     Mark::undocumented},
};

constexpr ActivationParams kParams = {dst, op, data, bias, scale, reduce_op, reduce_res};

ReduceCmd command(const InstView& v) { return v.get<ReduceCmd>(reduce_cmd); }

void check(Check& c) {
  check_activation(c, kParams);
  c.require(13, command(c) != ReduceCmd::load_reduce, [&] { return "reduce_cmd is load_reduce"; });
  c.advise(14, command(c) == ReduceCmd::idle || c.has(reduce_op),
           [&] { return "reduce_cmd is given, reduce_op is not"; });
}

void run(Run& r) { run_activation(r, kParams, command(r)); }

Cost cost(const CostQuery& q) { return cost_activation(q, kParams); }

void track(Track& t) {
  track_reduction(t, kParams.reduction(command(t)), {.undefined = 15, .mixed = 16},
                  overlay(t, dst, {data, bias, scale}));
}

unsigned state(const InstView& v) { return state_of(v, kActRegisters, command(v), reduce_res); }

}  // namespace

extern const Semantics semantics_activation = {
    .rules = kRules,
    .description =
        "o = op(data * scale + bias) in float32, product and sum rounded one after the other; dst = cvt(o). "
        "The 128 reduction registers: reset sets them to 0, reduce adds the row's o in ascending order, "
        "reset_reduce does both, idle keeps them; reduce_res = cvt(registers), also with idle. When "
        "reduce_res aliases dst the reduction wins.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N), plus 64 to read the registers out",
    .state = state,
};

}  // namespace kiln::isa
