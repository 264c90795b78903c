// The same program with instructions on another engine, where the instruction leaves the choice open.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::views {

struct Moved {
  isa::Program program;
  std::vector<isa::InstructionId> instructions;  // those that moved
};

// Asks for `engine` in the given instructions. Those that cannot run there on this chip stay where they are.
Moved move_to_engine(const isa::Program& program, std::span<const isa::InstructionId> instructions,
                     Engine engine, const Arch& arch);

}  // namespace kiln::views
