// What passes on graphs are written with: a walk that rebuilds a graph op by op.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kiln/tensor/ir/expr.h"

namespace kiln::tensor {

// Rebuilds a graph. `replace` gets each op with its operands as they are in the new graph, and says what stands for it
// there; nothing: the op itself.
struct Rewriting {
  const Graph& from;
  Graph& to;
  const Op& op;
  const std::vector<Value>& operands;
  Expr operand(std::size_t i) const { return {to, operands[i]}; }
  const Op& operand_op(std::size_t i) const { return to.op(operands[i]); }
};
using Replace = std::function<std::optional<Value>(const Rewriting&)>;
Graph rebuilt(const Graph& graph, const Replace& replace);

// The graph without ops that no output needs. Inputs stay.
Graph without_dead_ops(const Graph& graph);

// The one number of a constant whose elements are all equal, seen through broadcasts, reshapes and casts.
std::optional<double> splat_of(const Graph& graph, Value v);

}  // namespace kiln::tensor
