#include "kiln/tensor/ir/verify.h"

#include <fmt/format.h>

#include "kiln/tensor/ir/text.h"

namespace kiln::tensor {
namespace {

// Our bug, whatever the program: with the program as the pass left it.
[[noreturn]] void refuse(const Graph& graph, const std::string& pass, const std::string& found) {
  internal_error(__FILE__, __LINE__, fmt::format("after {}: {}; the program:\n{}", pass, found, print(graph)));
}

}  // namespace

void verify(const Graph& graph, const std::string& pass) {
  for (Value v = 0; v < graph.size(); ++v) {
    const Op& op = graph.op(v);
    for (Value operand : op.operands) {
      if (operand >= v) refuse(graph, pass, fmt::format("op {} reads value {}", v, operand));
    }
    for (const Body& body : op.bodies) verify(*body, pass);
    if (!(infer(graph, op) == op.type)) refuse(graph, pass, fmt::format("op {} has another type", v));
  }
  for (const Output& o : graph.outputs()) {
    if (o.value >= graph.size()) refuse(graph, pass, fmt::format("output {} is no value", o.name));
  }
}

}  // namespace kiln::tensor
