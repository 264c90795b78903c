// Values that may well hold NaN or infinities.
#pragma once

#include <set>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// What a program asks about being a number, what it makes of a constant that is none, and what is made of these. An
// input that nobody asks about may hold some as well.
std::set<Value> no_numbers(const Graph& graph);

}  // namespace kiln::tensor
