// The first operator of tensor_scalar_reduce and tensor_scalar_cumulative: op0(data, operand) on the vector
// engine, in float32.
#pragma once

#include "kiln/isa/semantics/check.h"

namespace kiln::isa {

// The rules that both instructions have under the same numbers.
namespace vector_operator_rules {
inline constexpr Rule kArithmetic{2, "op0 is an arithmetic operator of the vector engine",
                                  "apply bit operators with tensor_scalar first"};
inline constexpr Rule kGeneration{3, "op0 exists on the target's generation",
                                  "abs_max, abs_min, square and relu need trn3"};
}  // namespace vector_operator_rules

// Those, and `unary_rule`: a unary operator takes no operand or 0; `column_rule`: an operand tile has one value per
// partition.
void check_vector_operator(Check& c, int op, int operand, int data, const Rule& unary_rule, const Rule& column_rule);

}  // namespace kiln::isa
