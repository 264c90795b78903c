// The first operator of tensor_scalar_reduce and tensor_scalar_cumulative: op0(data, operand) on the vector
// engine, in float32.
#pragma once

#include "kiln/isa/semantics/check.h"

namespace kiln::isa {

// Both instructions number these rules alike: R2 the operator is arithmetic and of the vector engine, R3 it
// exists on the target, R4 a unary one takes no operand or 0, R5 an operand tile has one value per partition.
void check_vector_operator(Check& c, int op, int operand, int data);

}  // namespace kiln::isa
