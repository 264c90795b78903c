// Magnitude: numbers of a tile as bits without their sign, whose order is that of the numbers.
#pragma once

#include <array>
#include <cstdint>

#include "kiln/isa/semantics/run.h"

namespace kiln::sim {

// Whether elements of a dtype can be infinite or NaN.
// float8_e8m0fnu has no sign, and a NaN only from scales that were one.
constexpr bool may_be_nonfinite(DType t) { return is_float(t); }

// A function of dtypes that can be infinite or NaN, computed once for all of them.
inline std::array<std::uint32_t, kDTypeCount> by_dtype(std::uint32_t (*of)(DType)) {
  std::array<std::uint32_t, kDTypeCount> out{};
  for (int i = 0; i < kDTypeCount; ++i) {
    if (may_be_nonfinite(static_cast<DType>(i))) out[i] = of(static_cast<DType>(i));
  }
  return out;
}

// The bits of the smallest magnitude that is no number: infinity, or NaN where there is none.
namespace internal {
extern const std::array<std::uint32_t, kDTypeCount> kFirstNonfinite;
}
inline std::uint32_t first_nonfinite(DType t) { return internal::kFirstNonfinite[static_cast<int>(t)]; }

// The bits of an element without its sign.
std::uint32_t magnitude_of(DType t, std::uint32_t bits);

// The largest magnitude in a tile. Rows that are left out do not count.
std::uint32_t largest_magnitude(const Kernels& kernels, const isa::Tile& tile);

}  // namespace kiln::sim
