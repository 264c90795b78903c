// Spills: tiles that do not fit wait in HBM, as the vendor's compiler lets them.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"

namespace kiln::vendor {

// What was moved, per kernel.
struct Spilled {
  std::int64_t stores = 0, loads = 0;
  std::int64_t bytes = 0;      // stored and loaded
  std::int64_t from_psum = 0;  // tiles that wait in SBUF instead of PSUM
};

// Makes a traced program fit: of the tiles in SBUF, the one whose next use is farthest away goes to HBM and comes back
// before that use (Belady). One that was loaded and not changed is loaded again instead. Tiles that do not fit into
// PSUM are copied to SBUF after they are written. Does nothing when all fits, or when the program has loops.
Spilled spill(isa::Program& program, const Arch& arch);

}  // namespace kiln::vendor
