// What a program would cost with other element types or on other engines.
#pragma once

#include <span>

#include "kiln/base/function_ref.h"
#include "kiln/isa/program.h"

namespace kiln::rewrite {

// Calls fn() while an instruction has bfloat16 tiles where it has float32. The program is the same afterwards. False,
// and no call, when it has no such tile.
bool while_narrow(isa::Program& program, const isa::Instruction& inst, FunctionRef<void()> fn);

// The program with `narrowed` instructions in bfloat16 and `moved` ones on `engine`: for how long they take only.
isa::Program costs_after(const isa::Program& program, std::span<const isa::InstructionId> narrowed,
                         std::span<const isa::InstructionId> moved, Engine engine);

}  // namespace kiln::rewrite
