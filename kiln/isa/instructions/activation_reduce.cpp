#include "kiln/isa/instructions/shared/activation_common.h"

namespace kiln::isa {
namespace {
using namespace args::activation_reduce;

// Numbered as in activation (activation_common.cpp).
constexpr Rule kRules[] = {
    /* R1 */ {"data and dst have the same number of partitions and of free elements", "slice them to one shape"},
    /* R2 */ {"a bias tile has one value per partition", "slice bias to (P, 1)"},
    /* R3 */ {"bias is not tfloat32", "view or copy bias as float32"},
    /* R4 */ {"bias is a tile on gen2", "put the number into a (P, 1) tile with memset"},
    /* R5 */ {"a scale tile has one value per partition", "slice scale to (P, 1)"},
    /* R6 */ {"op is not prelu, which needs relu_param", "use activate2, which has relu_param"},
    /* R7 */ {"reciprocal takes no bias on gen2", "add the bias with tensor_scalar first"},
    /* R8 */
    {"reduce_op is add (documented for gen2, assumed for the others)",
     "reduce with tensor_reduce, or with activate2 on trn3"},
    /* R9 */ {"reduce_res has one value per partition", "allocate reduce_res as (P, 1)"},
    /* R10 */ {"an indirect dst is not in PSUM", "scatter into SBUF"},
    /* R11 */
    {"the input of the function lies in the range where the hardware's result is valid",
     "scale or clamp the input into the range"},
    /* R12 */
    {"copy takes no bias on gen2, where it was seen to be left out", "add the bias with tensor_scalar", Mark::external},
};

constexpr ActivationParams kParams = {dst, op, data, bias, scale, reduce_op, reduce_res};

void check(Check& c) { check_activation(c, kParams); }

void run(Run& r) { run_activation(r, kParams, ReduceCmd::reset_reduce); }

Cost cost(const CostQuery& q) { return cost_activation(q, kParams); }

void track(Track& t) {
  // reset_reduce depends on nothing that came before, so no rule of the state can break.
  track_reduction(t, kParams.reduction(ReduceCmd::reset_reduce), {}, overlay(t, dst, {data, bias, scale}));
}

unsigned state(const InstView&) { return kActRegisters; }

}  // namespace

extern const Semantics semantics_activation_reduce = {
    .rules = kRules,
    .description =
        "activation with reduce_cmd=reset_reduce: o = op(data * scale + bias); dst = cvt(o); the reduction "
        "registers = sum over the row of o in float32, ascending; reduce_res = cvt(registers). Without "
        "reduce_res the sums stay in the registers for a later activation.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N), plus 64 to read the registers out",
    .state = state,
};

}  // namespace kiln::isa
