// Microscaling: 32 elements along an axis share a power of two.
#pragma once

#include "kiln/base/dtype.h"

namespace kiln::tensor {

inline constexpr std::int64_t kMxGroup = 32;

// The exponent that the largest element of a group has after scaling: the last but one of the dtype, as the chip's
// quantize_mx has it, so that nothing is beyond the largest number.
constexpr int mx_exponent(DType element) { return element == DType::float8_e5m2 ? 14 : 7; }

}  // namespace kiln::tensor
