#include "kiln/tensor/passes/for_chip.h"

#include <algorithm>

#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

// nc_matmul_mx is there, and quantize_mx takes both operands.
bool multiplies_mx(const Rewriting& r, const Arch& chip) {
  const auto is_short = [&](Value v) { return size_bytes(r.to.type(v).dtype) == 2; };
  return chip.features.mx && std::all_of(r.operands.begin(), r.operands.end(), is_short) &&
         r.to.type(r.operands[0]).size() > 0 && r.to.type(r.operands[1]).size() > 0;
}

}  // namespace

Graph for_chip(const Graph& graph, const Arch& chip) {
  const auto concerned = [](const Op& op) { return op.code == OpCode::mx_matmul || !op.bodies.empty(); };
  if (std::none_of(graph.ops().begin(), graph.ops().end(), concerned)) return graph;
  return rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    if (r.op.code == OpCode::mx_matmul && !multiplies_mx(r, chip)) {
      const DType element = std::get<DType>(r.op.attr("dtype"));
      const bool has_element = element != DType::float8_e4m3fn || chip.features.float8_e4m3fn;
      return mx_product(r.operand(0), r.operand(1), element, has_element).value();
    }
    if (r.op.bodies.empty()) return {};
    Op op = r.op;
    for (Body& body : op.bodies) body = std::make_shared<const Graph>(for_chip(*body, chip));
    return r.to.copy(r.from, op, r.operands);
  });
}

}  // namespace kiln::tensor
