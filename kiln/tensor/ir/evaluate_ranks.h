// What the oracle on several ranks is made of.
#pragma once

#include "kiln/tensor/ir/evaluate_op.h"

namespace kiln::tensor {

// Ranks that go through a program together: all of them, or those that took one branch or are still in a loop.
struct Team {
  std::vector<std::int64_t> ranks;  // ascending
  std::int64_t of;                  // how many there are in all
};

// The value of a collective on each rank of the team (evaluate_collective.cpp).
std::vector<Array> meet(const Op& op, const std::vector<const Array*>& of_rank, const Team& team);

}  // namespace kiln::tensor
