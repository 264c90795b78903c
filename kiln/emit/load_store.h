// What nl.load and nl.store made. They leave the queue of a DMA to the vendor's compiler, which nki.isa does not.
#pragma once

#include "kiln/emit/outline.h"
#include "kiln/isa/program.h"

namespace kiln::emit {

inline constexpr int kDestination = 0, kSource = 1;  // parameters of the DMA that they make

// An operand of an instruction.
const isa::Access& operand(const isa::Program& program, const Item& item, int param);

// Whether the tile that block[at] declares is made by the nl.load behind it.
bool is_made_by_load(const isa::Program& program, const Outline& outline, const std::vector<Item>& block,
                     std::size_t at);
// Whether nl.store takes it: a tile to HBM, of the same shape but for dimensions of one element.
bool is_store(const isa::Program& program, const Item& item);

}  // namespace kiln::emit
