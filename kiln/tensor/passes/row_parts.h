// Rows in parts: where few long rows have to be reduced, or a row fits no partition, each lies on several partitions, a
// part of its elements on each. What there is one of for a row is on all of them, and reductions combine what the
// partitions of a row have (lower/row_parts.cpp).
#pragma once

#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

// What the number of partitions of a row divides: of all that a region has, the extent of the first dimension behind
// the rows, or of several a divisor; 0: nothing is reduced along it, or an op takes whole rows.
std::int64_t parted_length(const Graph& graph, const Fusion& fusion, int region, std::int64_t rows);

// The numbers of partitions for a row that are worth comparing.
std::vector<std::int64_t> parts_of_rows(const Graph& graph, const Fusion& fusion, int region, std::int64_t rows);

}  // namespace kiln::tensor
