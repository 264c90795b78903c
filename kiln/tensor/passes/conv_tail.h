// The tail of a convolution: what is done to its result element by element, with numbers and with one value per channel
// out, such as a bias and an activation. It is done while the result leaves PSUM.
#pragma once

#include <optional>
#include <vector>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// The value that v goes on from, behind views, when v can be in a tail: the other operand is a number or per channel.
std::optional<Value> tail_operand(const Graph& graph, Value v);

// One step of a tail.
struct TailStep {
  Value op;               // the elementwise op
  std::optional<int> by;  // the operand that is no data; nothing: a function of the data alone
};
TailStep tail_step(const Graph& graph, Value v);

}  // namespace kiln::tensor
