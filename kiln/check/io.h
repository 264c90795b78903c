// Rules about a kernel's inputs and outputs and its registers. That they lie in HBM at all is the verifier's
// business.
#pragma once

#include "kiln/analysis/liveness.h"
#include "kiln/arch/arch.h"

namespace kiln::check {

// io.R1 to io.R3.
void check_io(const isa::Program& program, const Arch& arch, const analysis::Liveness& liveness,
              std::vector<Diagnostic>& out);

}  // namespace kiln::check
