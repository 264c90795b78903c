// Decompose: ops that no instruction computes become ops that one does. What stays: operators of the vector engine,
// functions of the scalar engine, reciprocal, where, cast, reductions that keep their dimensions, products of matrices
// with equal batches, views, joins and indexed rows.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// Throws Error (tensor.R17, not_yet) for an op that has no way to instructions yet.
Graph decompose(const Graph& graph);

}  // namespace kiln::tensor
