// What activation, activation_reduce and activate2 share.
#pragma once

#include "kiln/isa/instructions/shared/accumulator.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"

namespace kiln::isa {

// Parameter positions of activation and activation_reduce. Both number the rules of these parameters alike,
// R1 to R12.
struct ActivationParams {
  int dst, op, data, bias, scale, reduce_op, reduce_res;

  Reduction reduction(ReduceCmd cmd) const {
    return {.bit = kActRegisters, .cmd = cmd, .op = AluOp::add, .dst = dst, .reduce_res = reduce_res};
  }
};
void check_activation(Check& c, const ActivationParams& p);
void run_activation(Run& r, const ActivationParams& p, ReduceCmd cmd);
Cost cost_activation(const CostQuery& q, const ActivationParams& p);

// x[i] = fn(x[i]); warns (rule `number`) of an input outside the range where the hardware's result is valid.
void apply_activation(const Run& r, int number, ActFn fn, float param, const RowChunk& c, float* x);

}  // namespace kiln::isa
