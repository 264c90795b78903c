// Registers that a program uses without allocating them, as texts may, allocated at its beginning.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::rewrite {

isa::Program allocate_registers(isa::Program program);

}  // namespace kiln::rewrite
