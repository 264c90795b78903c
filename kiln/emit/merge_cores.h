// The programs of the two cores of a pair as one: where they differ in numbers only, those depend on the core.
#pragma once

#include "kiln/emit/outline.h"

namespace kiln::emit {

// Both outlines have one variable around everything, the number of the core. Writes into the first one what core 1
// has otherwise, and returns true; or returns false when the programs differ in more than numbers.
bool merge_cores(Outline& first, const isa::Program& first_program, const Outline& second,
                 const isa::Program& second_program);

}  // namespace kiln::emit
