// What the operands of an instruction held where one element of its result comes from.
#pragma once

#include <string>

#include "kiln/sim/first_nonfinite.h"

namespace kiln::sim {

// "data1 is 3e+38, data2 is 2e+38". Of operands that more than one element of went in, from the smallest to the
// largest; of those that the result lies over, the largest magnitude.
std::string operand_values(const isa::Run& run, const Before& before, int result, std::int64_t element);

// "3e+38"; a NaN has no sign here.
std::string number_text(float value);

// "65504".
std::string largest_number(DType dtype);

}  // namespace kiln::sim
