// Instructions on another engine, where the instruction leaves the choice open.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

// Those of the given instructions that can run on `engine` of this chip. The program is the same afterwards.
std::vector<isa::InstructionId> movable(isa::Program& program, std::span<const isa::InstructionId> instructions,
                                        Engine engine, const Arch& arch);

// Asks for `engine` in all of the given instructions, which are movable.
void move_to_engine(isa::Program& program, std::span<const isa::InstructionId> instructions, Engine engine);

}  // namespace kiln::rewrite
