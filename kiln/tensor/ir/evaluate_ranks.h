// What the oracle on several ranks is made of.
#pragma once

#include "kiln/tensor/ir/evaluate_op.h"

namespace kiln::tensor {

// Ranks that go through a program together: all of them, or those that took one branch or are still in a loop.
struct Team {
  std::vector<std::int64_t> ranks;  // ascending
  std::int64_t of;                  // how many there are in all
};

using Given = std::vector<const Array*>;  // operands of one rank
using Results = std::vector<Array>;       // of one rank

// The results of a collective on each rank of the team (evaluate_collective.cpp).
std::vector<Results> meet(const Op& op, const std::vector<Given>& of_rank, const Team& team);

// Of the ops that end with _v: dst and recv_counts of the rank at place `mine` of its group, from what all of its ranks
// bring (evaluate_sized.cpp).
Results sized_parts(const Op& op, const std::vector<Given>& brought, std::size_t mine);
// Of the ops that give numbers of ranks (the same file).
std::vector<Results> rank_numbers(const Op& op, const std::vector<Given>& of_rank, const Team& team);

}  // namespace kiln::tensor
