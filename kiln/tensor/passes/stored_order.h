// How values lie in HBM: results of regions in the order in which they are read, and matrices in the dtype in which
// they were given.
#pragma once

#include <map>
#include <set>

#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

// Results of regions that are only read transposed, all in the same way, such as heads that are merged: where their
// elements lie, which is as their readers see them.
std::map<Value, Strided> stored_orders(const Graph& graph, const Fusion& fusion);

// Given matrices of 16 bits that products alone read, in float32: DMAs convert them.
std::set<Value> converted_matrices(const Graph& graph);

}  // namespace kiln::tensor
