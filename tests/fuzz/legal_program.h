// Random programs that mostly pass check: each instruction is tried with operands that suit its row of the
// table and kept when its own rules accept it. Loops, views, registers, run-time addresses and tiles that
// nobody wrote are all in.
#pragma once

#include "kiln/isa/program.h"
#include "tests/fuzz/choices.h"

namespace kiln::isa {

Program legal_program(Choices& choices);

}  // namespace kiln::isa
