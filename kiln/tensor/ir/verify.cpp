#include "kiln/tensor/ir/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/tensor/ir/text.h"

namespace kiln::tensor {
namespace {

bool has_all_that_it_names(const Graph& graph) {
  const auto exists = [&](Value v) { return v < graph.size(); };
  return std::ranges::all_of(graph.ops(), [&](const Op& op) { return std::ranges::all_of(op.operands, exists); }) &&
         std::ranges::all_of(graph.outputs(), [&](const Output& o) { return exists(o.value); });
}

// Our bug, whatever the program: with the program as the pass left it, where that can be printed.
[[noreturn]] void refuse(const Graph& graph, const std::string& pass, const std::string& found) {
  const std::string text = has_all_that_it_names(graph) ? "; the program:\n" + print(graph) : "";
  internal_error(__FILE__, __LINE__, fmt::format("after {}: {}{}", pass, found, text));
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
