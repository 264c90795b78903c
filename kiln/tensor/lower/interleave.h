// Interleave: the instructions of several blocks of rows in one order, in which an engine that would wait for another
// one in a block goes on with the next block.
#pragma once

#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"

namespace kiln::tensor {

// `begins` are the places in a block of statements where parts begin that compute independently; the last one ends
// with it. Each part keeps its own order. Nothing happens when a part reads what another one writes.
void interleave(const isa::Program& program, isa::Block& block, const std::vector<std::size_t>& begins,
                const Arch& arch);

}  // namespace kiln::tensor
