// State chains: values of a graph that are made of each other by the same ops, step by step.
#pragma once

#include <vector>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct StateChain {
  std::vector<Value> states;  // the one before the first step, then that behind each
  std::vector<bool> reached;  // by value of the graph: whether it is made of a state behind a step
  std::int64_t steps() const { return static_cast<std::int64_t>(states.size()) - 1; }
};

// Chains of states that are small enough for a step to be mostly the start of its instructions.
std::vector<StateChain> state_chains(const Graph& graph);

}  // namespace kiln::tensor
