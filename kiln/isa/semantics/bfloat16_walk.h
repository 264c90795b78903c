// Walks over tiles of bfloat16 as they are: an operator computes from elements to elements, and nothing passes through
// rows of float32.
#pragma once

#include "kiln/isa/semantics/run.h"

namespace kiln::isa {

// A piece of a row.
struct Bfloat16Chunk {
  std::int64_t row;
  std::size_t n;
  const std::uint16_t* in[2];
  std::uint16_t* out;
};

// Calls body for pieces of dst and inputs of the same shape, as map_rows does; it gives the `largest` of what it
// wrote to `out`. False when a tile has another dtype or rows too short, or when the run is the definition, which
// walks another way; then nothing was done.
bool map_bfloat16(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, Walk walk,
                  FunctionRef<std::uint32_t(const Bfloat16Chunk&)> body);

}  // namespace kiln::isa
