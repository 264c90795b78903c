// The kernels of elementwise.h beyond float32: a number is the sum of two float32 numbers, in arrays x0 and x1 of the
// same shape (kernels/blas/double_float.h). All are at most 1; whoever has doubles divides by powers of two.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::kernels {

// complex_multiply_double: y = x factor, right to 2^-42 |x| |factor|
//   input x0, x1, factor0, factor1  [1, 2 count]   output y0, y1  [1, 2 count]   float32
isa::Program complex_multiply_double(std::int64_t count, Target target);

// mod_relu_double: y = relu(size ratio + bias) x / size, size the larger one of |x| and least; right to 2^-40 of
// size ratio + |bias|
//   input x0, x1  [1, 2 count]   input ratio, bias0, bias1, least0, least1  [1, count]   output y0, y1  [1, 2 count]
// where `ratio` is a power of two: what x and least were divided by over what the bias was.
isa::Program mod_relu_double(std::int64_t count, Target target);

}  // namespace kiln::kernels
