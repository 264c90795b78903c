// Sizes that the text form and the verifier agree on. They keep every product that a Program makes necessary
// in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::isa {

inline constexpr int kMaxDepth = 64;  // of loops, and of accesses inside accesses
inline constexpr std::size_t kMaxListLength = 65536;
inline constexpr std::size_t kMaxTerms = 64;                           // of an affine expression
inline constexpr std::int64_t kMaxTensorSize = std::int64_t{1} << 48;  // elements; also every part of an offset
inline constexpr std::int64_t kMaxLoopBound = std::int64_t{1} << 31;   // registers have 32 bits

}  // namespace kiln::isa
