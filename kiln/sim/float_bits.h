// A number that looks like the bits of a float, in words.
#pragma once

#include <cstdint>
#include <string>

namespace kiln::sim {

// What to add to a number of a register that is out of all bounds: one that was loaded from a float32 tile
// holds the bits of the float. Empty when the bits are no whole number from 1 to 2^24.
std::string float_bits_text(std::int64_t value);

}  // namespace kiln::sim
