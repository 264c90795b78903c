// Tensors placed by hand at the same bytes: values that are overwritten through another name and then read.
#pragma once

#include "kiln/analysis/liveness.h"

namespace kiln::check {

// memory.R7. Sharing bytes is legal: one after the other (ring buffers), and as views of each other (one
// tensor writes, the other reads). Reported is only what is certain: A wrote some bytes, B wrote them, A
// reads them, and nothing wrote A in between. The first two passes of loops are followed (of very deep ones,
// the first).
void check_clobbered(const isa::Program& program, const analysis::Liveness& liveness, std::vector<Diagnostic>& out);

}  // namespace kiln::check
