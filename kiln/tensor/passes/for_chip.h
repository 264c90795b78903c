// What a generation lacks is written with what it has, before any other pass.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

Graph for_chip(const Graph& graph, const Arch& chip);

}  // namespace kiln::tensor
