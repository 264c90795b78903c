// Collectives as ops of tensor programs: what ranks exchange. Every rank runs the same program on arrays of its own.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

using RankGroups = std::vector<Ints>;

// Ops that hang on the rank which runs them, most because ranks meet.
bool is_collective(OpCode code);
// Those that only ask for a number of a rank.
bool is_rank_number(OpCode code);
// Those of parts whose sizes are tensors: they have the counts of what came as a second result.
bool is_sized(OpCode code);

// A ring has at most so many.
inline constexpr std::int64_t kMostChannels = 4;

// Lists of ranks as an attribute has them, each after its length, and back; of a permutation the lists are pairs of a
// source and a target. What no lengths fit stays a list, for whoever checks it.
Ints flat_groups(const RankGroups& groups);
RankGroups groups_of(const Op& op);
// How many ranks meet.
std::int64_t group_size(const Op& op);

}  // namespace kiln::tensor
