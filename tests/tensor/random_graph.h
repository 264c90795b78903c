// Random tensor programs: shapes that broadcast, views of views, reductions, products.
#pragma once

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph random_graph(unsigned seed);
// Integers, borders, indexing, sorting, windows, loops and branches.
Graph random_broad_graph(unsigned seed);

}  // namespace kiln::tensor
