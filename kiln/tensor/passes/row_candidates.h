// How many rows ops can have in a region, and which operands keep them.
#pragma once

#include <set>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

bool reduces_rows(OpCode code);
// Whether a search is along the last axis; else all behind its axis lies on one partition.
bool searches_last(const Graph& graph, const Op& op);
// The R that an op allows by itself.
std::set<std::int64_t> own_candidates(const Graph& graph, const Op& op);
// Whether operand i of an op may be a value of the same region when it has R rows.
bool keeps_rows(const Graph& graph, const Op& op, std::size_t i, std::int64_t rows);

}  // namespace kiln::tensor
