// Tiles that are read before anything writes them.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::check {

// flow.R5, once per line: an instruction reads a tile on chip that none before it has written a byte of. An error where
// a run cannot but end in one, that is where a product adds to such a tile (accumulate=True) or such a tile is stored
// to a tensor in HBM; a warning elsewhere, because what is computed of it may go nowhere. Tensors placed over each
// other are left alone.
void check_unwritten(const isa::Program& program, std::vector<Diagnostic>& out);

}  // namespace kiln::check
