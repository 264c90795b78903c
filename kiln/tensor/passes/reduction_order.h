// In which order and from which view of their operand dimensions are reduced, so that many partitions work side by side
// and DMAs move long runs.
#pragma once

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// For sum, prod, max and min: another way to write the op, or nothing when it stands as it is.
std::optional<Value> reordered_reduction(const Rewriting& r);

// Whether sums along the first axes are those over the rows of a region that makes x anyway: x is made of one value per
// row too, which only that region has. They are then products with ones, which the region adds up along the way.
bool adds_up_along_rows(const Graph& graph, Value x, const Ints& axes);

}  // namespace kiln::tensor
