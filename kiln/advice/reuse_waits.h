// Time lost because a tile is used again too soon: an instruction stands ready, and what it overwrites is
// still in use. Tiles that are declared in a loop have as many buffers as memory holds and are no part of it.
#pragma once

#include "kiln/advice/advice.h"

namespace kiln::advice {

// What the two rules about it call the tiles and who waits for them.
struct ReuseWords {
  std::string_view who;   // "DMA waits"
  std::string_view what;  // "an SBUF tile that is still in use"
  std::string_view tile;  // "SBUF tile"
};

// The advice to use several tiles of `memory` in turn; nothing when nobody waits for one, or when memory has
// no room for more.
std::optional<Advice> advise_more_buffers(const Evidence& evidence, Memory memory, const ReuseWords& words);

}  // namespace kiln::advice
