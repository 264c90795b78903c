#include "kiln/tensor/passes/rewrite.h"

#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {

Graph rebuilt(const Graph& graph, const Replace& replace) {
  Graph out(graph.name);
  out.pinned = true;
  std::vector<Value> now;
  for (const Op& op : graph.ops()) {
    std::vector<Value> operands;
    for (Value v : op.operands) operands.push_back(now[v]);
    if (graph.loc(op).known()) out.at(graph.loc(op));
    const auto replaced = replace({graph, out, op, operands});
    now.push_back(replaced ? *replaced : out.copy(graph, op, std::move(operands)));
  }
  for (const Output& o : graph.outputs()) out.output(o.name, now[o.value]);
  return out;
}

Graph without_dead_ops(const Graph& graph) {
  std::vector<bool> live(graph.size(), false);
  for (const Output& o : graph.outputs()) live[o.value] = true;
  for (Value v = graph.size(); v-- > 0;) {
    if (graph.op(v).code == OpCode::input) live[v] = true;
    if (!live[v]) continue;
    for (Value operand : graph.op(v).operands) live[operand] = true;
  }
  Graph out(graph.name);
  std::vector<Value> now(graph.size(), 0);
  for (Value v = 0; v < graph.size(); ++v) {
    if (!live[v]) continue;
    std::vector<Value> operands;
    for (Value operand : graph.op(v).operands) operands.push_back(now[operand]);
    now[v] = out.copy(graph, graph.op(v), std::move(operands));
  }
  for (const Output& o : graph.outputs()) out.output(o.name, now[o.value]);
  return out;
}

std::optional<double> splat_of(const Graph& graph, Value v) {
  const Op& op = graph.op(v);
  if (op.is_splat()) return (*op.numbers)[0];
  if (is_view(op.code)) return splat_of(graph, op.operands[0]);
  if (op.code == OpCode::cast) {
    const auto x = splat_of(graph, op.operands[0]);
    return x ? std::optional(stored(op.type.dtype, *x)) : std::nullopt;
  }
  return {};
}

}  // namespace kiln::tensor
