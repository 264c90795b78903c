// Integers that float32 does not hold: an engine that computes in float32 rounds 32-bit integers beyond 2^24,
// silently on the chip. Instructions that may do so run with row kernels that look at what they convert.
#pragma once

#include "kiln/isa/semantics/run.h"

namespace kiln::sim {

// Whether an instruction reads 32-bit integers, or makes them from integers.
bool may_round_integers(const isa::InstView& inst);

// The kernels that look, with the values of `kernels`.
const Kernels& looking(const Kernels& kernels);

// Computes the values of an instruction. Warns (run.R13) of the first integer that was rounded, when its
// kernels look.
void compute_exactly(isa::Run& run);

}  // namespace kiln::sim
