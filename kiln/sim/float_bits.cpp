#include "kiln/sim/float_bits.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace kiln::sim {

std::string float_bits_text(std::int64_t value) {
  constexpr std::int64_t kBitsOfOne = 0x3F800000, kBitsOfMillions = 0x4B800000;  // 2^24
  if (value < kBitsOfOne || value > kBitsOfMillions) return {};
  const auto number = std::bit_cast<float>(static_cast<std::int32_t>(value));
  if (number != std::trunc(number)) return {};
  return fmt::format(" (the bits of {:.1f} in float32: load it from an int32 tile)", number);
}

}  // namespace kiln::sim
