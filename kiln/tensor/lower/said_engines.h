// Who computes what several engines can. A program that leaves it open lets the vendor's compiler choose, which counts
// what each engine has had so far; one that says it keeps its own choice.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"

namespace kiln::tensor {

// Says the engine that an instruction would run on anyway, where the program leaves it open.
void say_engines(isa::Program& program, const Arch& chip);

}  // namespace kiln::tensor
