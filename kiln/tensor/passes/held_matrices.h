// Products of a few hundred rows with given matrices, the other way round: the tensor engine holds blocks of the matrix
// and the rows come by as columns. Results have rows as columns, which is how a product behind them wants them.
#pragma once

#include <cstdint>
#include <optional>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// Which products of a chain are turned.
enum class HeldMatrices : std::uint8_t {
  between,  // those of which products alone read what elementwise ops make: the last ones give rows
  all,      // also those whose results are outputs
};
// Nothing where there is no such product.
std::optional<Graph> with_held_matrices(const Graph& graph, HeldMatrices which);

}  // namespace kiln::tensor
