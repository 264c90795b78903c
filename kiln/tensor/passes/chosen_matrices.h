// Chosen matrices: y @ W[indices] with indices that are known at run time, as experts are chosen. Few of them are
// products one by one, each of which reads its matrix where it lies; otherwise the matrices would be copied first.
#pragma once

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// Nothing: the op stays. `uses`: how often each value of the graph before is read.
std::optional<Value> product_of_chosen(const Rewriting& r, const std::vector<int>& uses);

}  // namespace kiln::tensor
