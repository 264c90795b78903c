// The oracle's arithmetic: the columns `floats` and `integers` of ops.def as functions.
#pragma once

#include "kiln/tensor/ir/op.h"

namespace kiln::tensor {

// y is not used by unary ops. `working` is the dtype of the operands; integer results wrap to it.
double apply(OpCode code, DType working, double x, double y);

}  // namespace kiln::tensor
