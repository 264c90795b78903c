// What the register instructions share: 32 bits that are a signed or an unsigned integer, or the bits of a
// float32.
#pragma once

#include <cstdint>

namespace kiln::isa {

constexpr bool fits_register(std::int64_t value) {
  return value >= -(std::int64_t{1} << 31) && value < std::int64_t{1} << 32;
}

}  // namespace kiln::isa
