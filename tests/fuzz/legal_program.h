// Random programs that mostly pass check: each instruction is tried with operands that suit its row of the
// table and kept when its own rules accept it. Loops of all kinds, views, also as other dtypes, registers,
// run-time addresses, tiles that nobody wrote and pairs of cores that meet are all in.
#pragma once

#include <vector>

#include "kiln/isa/program.h"
#include "tests/fuzz/choices.h"

namespace kiln::isa {

// One program, or those of a pair of cores.
std::vector<Program> legal_programs(Choices& choices);

}  // namespace kiln::isa
