// The text form of a tensor program (.kt), and back. docs/compiler.md has the grammar.
//
//   kt 1
//   program "scale"
//   x: float32[128, 512] = input(name="x")
//   y: float32[128, 512] = multiply(x, 2.0)
//   output "y" = y
#pragma once

#include <string>
#include <string_view>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct PrintOptions {
  bool places = false;   // ` @ "file":line` behind each op that has one
  bool digests = false;  // of large constants, in place of their numbers: to tell programs apart, not to be parsed
};
std::string print(const Graph& graph, const PrintOptions& options = {});

// Throws Error (tensor.R18, or the rule that an op breaks) at the line of the text.
Graph parse(std::string_view text, const std::string& file_name);

}  // namespace kiln::tensor
