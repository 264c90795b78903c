// Single changes of a program's instructions. Whoever changes programs does it with these, not in the pools that
// arguments and accesses lie in.
#pragma once

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"

namespace kiln::rewrite {

// An argument of an instruction, to be changed.
isa::Arg& arg_of(isa::Program& program, const isa::Instruction& inst, int param);

// An argument that is a member of an enumeration.
isa::Arg enumerator(std::int64_t member);

// An argument that is this access, which is added to the program: instructions may share those that are there.
isa::Arg add_access(isa::Program& program, const isa::Access& access);
// The same, of an access that nobody is going to change: the one that was added last serves again when it is equal.
isa::Arg share_access(isa::Program& program, const isa::Access& access);

// An instruction with the default of every argument, in none of the program's blocks yet.
isa::Instruction default_instruction(isa::Program& program, isa::Opcode opcode, isa::LocId loc);

}  // namespace kiln::rewrite
