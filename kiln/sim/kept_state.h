// Which hidden state of a core's engines anybody asks for.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::sim {

// The StateBits that some instruction of the program goes on from. Instructions that only ever start reductions anew
// need not wait for each other, and leave nothing behind.
unsigned kept_state(const isa::Program& program);

}  // namespace kiln::sim
