// Kernels that treat complex numbers one by one.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::kernels {

// complex_multiply: y = x t
//   input x, t  [1, 2 count]   output y  [1, 2 count]   float32, numbers are neighbours
isa::Program complex_multiply(std::int64_t count, Target target);

// mod_relu: y = relu(|x| + bias) x / |x|, |x| counting as at least 1e-8
//   input x  [rows, 2 features]   input bias  [1, features]   output y  [rows, 2 features]   float32
isa::Program mod_relu(std::int64_t rows, std::int64_t features, Target target);

// mod_relu_backward: dx and dbias, what a change of y by `gradient` is of x and of the bias
//   input x, gradient  [rows, 2 features]   input bias  [1, features]
//   output dx  [rows, 2 features]   output dbias  [1, features]   float32
isa::Program mod_relu_backward(std::int64_t rows, std::int64_t features, Target target);

}  // namespace kiln::kernels
