// A number that tells programs apart by what they usually do. Cheaper than their text.
#pragma once

#include <cstdint>

#include "kiln/isa/program.h"

namespace kiln::tensor {

// Equal for programs with the same tensors and statements; what stands in loops that usually run 0 times does not
// count, nor do places in the source and names of loops. Programs that differ have, but for 1 in 2^64, different ones.
std::uint64_t fingerprint(const isa::Program& program);

}  // namespace kiln::tensor
