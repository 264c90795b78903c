// Python numbers beside tensors: they take the tensor's dtype where they can.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct Scalar {
  double value = 0;
  bool is_real = false;  // 2.0, not 2
};
inline constexpr Value kScalar = 0xffffffffu;  // in place of a value that is a number

// A constant that holds the number in the dtype that NumPy 2 gives it beside a tensor. Throws Error (tensor.R16) when
// an integer does not fit.
Value weak(Graph& graph, Scalar scalar, DType beside);

}  // namespace kiln::tensor
