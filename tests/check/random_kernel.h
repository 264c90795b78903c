// Random kernels that run: tiles are made from tiles, most of which are not used again, in every way that matters to
// who may take whose bytes and which instructions may change places.
#pragma once

#include <cstdint>

#include "kiln/isa/program.h"

namespace kiln::check {

inline constexpr std::int64_t kRandomInputSize = 128 * 64;  // float32 elements of its input "x"

// The only output is "y". Every byte that is read has been written. Loops are static or on registers.
isa::Program random_kernel(std::uint64_t seed, int statements);

}  // namespace kiln::check
