// Masks: constants that say which columns a row sees, as a front end has them that computes masks by itself. As a
// comparison of column and row they need no storage, and whoever looks for a causal mask finds it.
#pragma once

#include <optional>
#include <vector>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// Whether `users` read a value as a softmax reads its operand: for the largest of each row, and to take that away.
bool is_shifted(const Graph& graph, const std::vector<Value>& users);

// A constant of truth that is column <= row + n, or its opposite, as that comparison.
std::optional<Value> banded_constant(const Rewriting& r);

// where(column > row + n, fill, x), as where(column <= row + n, x, fill).
std::optional<Value> turned_choice(const Rewriting& r);

// x + mask in front of a softmax, where the mask is 0 for column <= row + n and hides the others, as a choice. `users`
// and `uses` are those of the values of the graph that is rebuilt.
std::optional<Value> banded_sum(const Rewriting& r, const std::vector<std::vector<Value>>& users,
                                const std::vector<int>& uses);

}  // namespace kiln::tensor
