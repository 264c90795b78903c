// Which NaNs and infinities an instruction makes itself, and which it hands on: they go through it as bytes do that
// were never written, so each instruction's `track` says how.
#pragma once

#include <optional>

#include "kiln/sim/first_nonfinite.h"

namespace kiln::sim {

// From this magnitude on an element may be more than a plain number: no number at all, or one that stands for minus
// infinity in a mask.
std::uint32_t first_extreme(DType dtype);

// The first element of a result that is NaN of operands none of which is NaN, or infinite of operands that are plain
// numbers.
std::optional<std::int64_t> first_made(const isa::Run& run, const Before& before, int result);

// The tiles of a parameter; none when it is a number or left out.
std::span<const isa::Tile> tiles_of(const isa::Run& run, int param);

// Elements as bits, in row-major order; those of rows that are left out are 0.
std::vector<std::uint32_t> bits_of(const isa::Tile& tile);
std::uint32_t bits_of(const isa::Tile& tile, std::int64_t element);

}  // namespace kiln::sim
