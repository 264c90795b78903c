// Is a Program well built? Structure only: what the instructions demand of their operands is checked later,
// by check.h.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::isa {

// Everything wrong with the structure, codes program.R*; empty when the program is sound. Stops after 100
// findings, and earlier where the rest would mean nothing: after broken indices and blocks, then after wrong
// declarations and loops.
std::vector<Diagnostic> verify(const Program& program, const Arch& arch);
std::vector<Diagnostic> verify(const Program& program);  // on the target that it names

}  // namespace kiln::isa
