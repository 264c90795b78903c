// In which order and from which view of their operand dimensions are reduced, so that many partitions work side by side
// and DMAs move long runs.
#pragma once

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// For sum, prod, max and min: another way to write the op, or nothing when it stands as it is.
std::optional<Value> reordered_reduction(const Rewriting& r);

}  // namespace kiln::tensor
