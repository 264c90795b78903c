// What activation, activation_reduce and activate2 share.
#pragma once

#include "kiln/isa/enums.h"
#include "kiln/isa/run.h"

namespace kiln::isa {

struct ActivationOperands {
  int dst, data, reduce_res;  // parameter positions; reduce_res -1 when absent
};

// Computes dst row by row with `body`, reduces the float32 results as the command says, and writes reduce_res
// last.
void run_activation(Run& r, const ActivationOperands& operands, ReduceCmd cmd, AluOp reduce_op,
                    FunctionRef<void(const RowChunk&)> body);

// Warns (rule `number`) when an input of fn, after scale and bias, lies outside the range where the hardware
// is valid.
void warn_out_of_range(const Run& r, int number, ActFn fn, const RowChunk& c, float scale, float bias);

}  // namespace kiln::isa
