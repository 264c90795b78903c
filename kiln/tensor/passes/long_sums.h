// Long sums: a product of many rows with a large matrix, over a sum that is too long for rows to be turned at once, is
// several products that are added up in float32. Each of them reads its part of the matrix for many rows together.
#pragma once

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// The longest sum of a product that turns all of its rows at once.
constexpr std::int64_t longest_sum(DType t) { return size_bytes(t) >= 4 ? 8192 : 16384; }

// Nothing: the op stays.
std::optional<Value> sum_of_products(const Rewriting& r);

}  // namespace kiln::tensor
