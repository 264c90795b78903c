// Activations: functions that are written out, such as x/2 (1 + tanh(0.797885 (x + 0.044715 x^3))), as the one function
// that the chip has for them. How they are written does not matter: what is computed of x is tried on numbers.
#pragma once

#include <optional>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// gelu in both forms and mish, for the product that such a formula ends with.
std::optional<Value> recognised_activation(const Rewriting& r);

}  // namespace kiln::tensor
