// Many short rows that meet a small matrix, such as points that are turned and pixels whose colours are converted: on
// the tensor engine, each 128 of them would be turned, copied, multiplied and copied again.
#pragma once

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// x @ y as the sums of products that each column of the result is, element by element: what x and y are, in float32.
std::optional<Expr> sums_by_column(const Expr& x, const Expr& y);

}  // namespace kiln::tensor
