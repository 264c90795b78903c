// Scores of few queries that several heads have of the same keys: they stay rows of one product, however they are seen
// on the way to a softmax, such as apart by head for a mask that all heads share.
#pragma once

#include <optional>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// An op on a reshape of such scores as the op on the scores, seen so afterwards. Masks are repeated for each head.
std::optional<Value> on_rows_together(const Rewriting& r);

}  // namespace kiln::tensor
