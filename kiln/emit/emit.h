// A program as NKI 0.6.0 source: one function that, traced, issues the program again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/isa/launch.h"

namespace kiln::emit {

struct EmitOptions {
  bool roll = true;                       // statements that repeat become loops
  bool main = false;                      // a block that runs the kernel on random inputs
  std::string origin = {};                // what the program was made from, for the header
  std::vector<std::string> outputs = {};  // what is returned; otherwise outputs, then arguments that are written
  // Inputs that the source holds itself: Python that makes the array.
  std::map<std::string, std::string> constants = {};
  // By core, by InstructionId: the group that an instruction belongs to, told in a comment where it begins.
  std::vector<std::vector<std::string>> groups = {};
};

// Python source of the kernel that the cores of a launch run. Throws Error (emit.R*) for what no source can say, and
// that of verify for programs that are not sound. The same launch and options give the same text.
std::string emit(const isa::Launch& launch, const EmitOptions& options = {});

}  // namespace kiln::emit
