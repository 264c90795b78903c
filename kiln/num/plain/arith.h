// One float32 operator on one pair of values: the definition behind the ALU and fold kernels.
#pragma once

#include "kiln/num/op.h"

namespace kiln::plain {

// Unary operators use x only. A NaN that maximum, minimum or relu return is the quiet one without payload.
float arith(AluOp op, float x, float y);

}  // namespace kiln::plain
