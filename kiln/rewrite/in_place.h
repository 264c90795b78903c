// Outputs that may take the place of an input.
#pragma once

#include <optional>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

// The program in which an output is written over an input of its shape: one tensor of the input's name, which is both.
// Nothing when some pass may read of the input what an earlier one has written over it, as far as that is seen from the
// statements: all reads come before all writes, or both stand in one loop, each pass of which reads what it writes, and
// no other does.
std::optional<isa::Program> updated_in_place(const isa::Program& program, isa::TensorId input, isa::TensorId output);

}  // namespace kiln::rewrite
