#include "kiln/tensor/passes/conv_tail.h"

#include <algorithm>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

bool is_function(OpCode code) {
  constexpr OpCode kFunctions[] = {OpCode::relu, OpCode::tanh,      OpCode::sigmoid, OpCode::silu,
                                   OpCode::gelu, OpCode::gelu_tanh, OpCode::exp};
  return std::find(std::begin(kFunctions), std::end(kFunctions), code) != std::end(kFunctions);
}

bool combines(OpCode code) {
  return code == OpCode::add || code == OpCode::multiply || code == OpCode::maximum || code == OpCode::minimum;
}

// One value per channel, the second dimension of a result.
bool is_per_channel(const Type& t, const Type& result) {
  const auto skip = static_cast<std::size_t>(result.rank() - t.rank());
  for (std::size_t d = 0; d < t.shape.size(); ++d) {
    if (t.shape[d] != (d + skip == 1 ? result.shape[1] : 1)) return false;
  }
  return skip <= 1 && t.dtype == result.dtype;
}

// Behind views that count elements in another way.
Value behind_reshapes(const Graph& graph, Value v) {
  while (graph.op(v).code == OpCode::reshape) v = graph.op(v).operands[0];
  return v;
}

}  // namespace

TailStep tail_step(const Graph& graph, Value v) {
  const Op& op = graph.op(v);
  if (op.operands.size() == 1) return {v, {}};
  for (int i : {1, 0}) {
    if (splat_of(graph, op.operands[i]) || is_per_channel(graph.type(op.operands[i]), op.type)) return {v, i};
  }
  return {v, {}};
}

std::optional<Value> tail_operand(const Graph& graph, Value v) {
  const Op& op = graph.op(v);
  if (!is_float(op.type.dtype) || size_bytes(op.type.dtype) < 2 || op.type.rank() < 3) return {};
  const TailStep step = tail_step(graph, v);
  const bool fits = step.by ? combines(op.code) : is_function(op.code);
  if (!fits) return {};
  const Value data = op.operands[step.by ? 1 - *step.by : 0];
  if (!(graph.type(data) == op.type)) return {};
  const Value from = behind_reshapes(graph, data);
  const Shape &a = graph.type(from).shape, &b = op.type.shape;
  // Images and channels are in front.
  if (a.size() < 3 || a[0] != b[0] || a[1] != b[1] || graph.type(from).dtype != op.type.dtype) return {};
  return from;
}

}  // namespace kiln::tensor
