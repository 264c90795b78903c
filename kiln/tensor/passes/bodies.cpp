#include "kiln/tensor/passes/bodies.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

bool has_bodies(const Graph& graph) {
  return std::any_of(graph.ops().begin(), graph.ops().end(), [](const Op& op) { return !op.bodies.empty(); });
}

template <class Change>
Op with_changed_bodies(const Op& op, Change&& change) {
  Op out = op;
  for (Body& body : out.bodies) body = std::make_shared<const Graph>(change(*body));
  return out;
}

// A body's ops behind those of a graph; the values of its outputs.
std::vector<Value> pasted(Graph& to, const Graph& body, const std::vector<Value>& operands) {
  std::vector<Value> now, out;
  std::size_t next = 0;
  for (const Op& op : body.ops()) {
    if (op.code == OpCode::input) {
      now.push_back(operands[next++]);
      continue;
    }
    std::vector<Value> in;
    for (Value v : op.operands) in.push_back(now[v]);
    now.push_back(to.copy(body, op, std::move(in)));
  }
  for (const Output& o : body.outputs()) out.push_back(now[o.value]);
  return out;
}

}  // namespace

Graph with_bodies(const Graph& graph, Graph (*pass)(const Graph&)) {
  if (!has_bodies(graph)) return graph;
  return rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    if (r.op.bodies.empty()) return {};
    const Op op = with_changed_bodies(r.op, [&](const Graph& body) { return with_bodies(pass(body), pass); });
    return r.to.copy(r.from, op, r.operands);
  });
}

Graph inlined(const Graph& graph) {
  if (!has_bodies(graph)) return graph;
  Graph out(graph.name);
  std::vector<Value> now;
  std::map<Value, std::vector<Value>> results;  // of calls
  for (Value v = 0; v < graph.size(); ++v) {
    const Op& op = graph.op(v);
    std::vector<Value> operands;
    for (Value x : op.operands) operands.push_back(now[x]);
    const auto call = op.code == OpCode::result ? results.find(op.operands[0]) : results.end();
    if (op.code == OpCode::result && op.integer("index") == 0) {
      now.push_back(operands[0]);
    } else if (call != results.end()) {
      now.push_back(call->second[op.integer("index")]);
    } else if (op.code == OpCode::call) {
      now.push_back((results[v] = pasted(out, inlined(*op.bodies[0]), operands))[0]);
    } else {
      now.push_back(out.copy(graph, with_changed_bodies(op, inlined), std::move(operands)));
    }
  }
  for (const Output& o : graph.outputs()) out.output(o.name, now[o.value]);
  return out;
}

}  // namespace kiln::tensor
