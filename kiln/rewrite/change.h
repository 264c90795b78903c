// Change: instructions with other element types or on other engines, to ask how long they would take.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

// Gives an instruction bfloat16 tiles where it has float32, and returns which ones.
std::vector<isa::Access*> narrow(isa::Program& program, const isa::Instruction& inst);

// The program with `narrowed` instructions in bfloat16 and `moved` ones on `engine`: for how long they take only.
isa::Program costs_after(const isa::Program& program, std::span<const isa::InstructionId> narrowed,
                         std::span<const isa::InstructionId> moved, Engine engine);

}  // namespace kiln::rewrite
