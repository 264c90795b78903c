// Results that nothing reads.
#pragma once

#include "kiln/analysis/liveness.h"

namespace kiln::check {

// flow.R3, once per line: a warning about instructions all of whose results are tiles on chip that no instruction
// reads. A line of which some tiles are used is left alone, and so are tensors placed over each other.
void check_unused(const isa::Program& program, const analysis::Liveness& liveness, std::vector<Diagnostic>& out);

}  // namespace kiln::check
