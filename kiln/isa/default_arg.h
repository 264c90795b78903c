// What a parameter is when the kernel leaves it out, as an argument. Builder and parser fill arguments from
// here.
#pragma once

#include <span>

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"

namespace kiln::isa {

// Kind none for required parameters, for tiles, and where the default is None or empty. Defaults are never
// lists, so none of them needs a pool of a Program.
Arg default_arg(const ParamInfo& param);

// The defaults of all parameters of an instruction, computed once.
std::span<const Arg> default_args(Opcode opcode);

// Same kind and same value, bit for bit; false for lists and accesses, which only their pools can compare.
bool same_scalar(const Arg& a, const Arg& b);

}  // namespace kiln::isa
