// Sums in PSUM that are lost, or that go on after they were read.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::check {

// flow.R1 and flow.R2, once per line: warnings. Said is only what is certain; the first two passes of loops are
// followed, and tensors placed over each other are left alone.
void check_sums(const isa::Program& program, std::vector<Diagnostic>& out);

}  // namespace kiln::check
