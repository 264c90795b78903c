// Row sums: products that add up over all rows of a region, x.T @ y with rows of x and y that the region has or reads.
// With ones for x they are sums along the first axes, as decompose writes them. The region adds them up in PSUM, one
// block of rows after the other.
#pragma once

#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

// What a row sum has of each row: its operand before it is turned (the first one) or reshaped. Nothing: ones.
std::optional<Value> summed_rows(const Graph& graph, Value sum, int operand);

// Gives them to such regions, before these are in order.
void take_row_sums(const Graph& graph, Fusion& fusion);
bool is_row_sum(const Fusion& fusion, Value v);

}  // namespace kiln::tensor
