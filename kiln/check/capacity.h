// What to say when the on-chip tensors of a program do not fit.
#pragma once

#include "kiln/analysis/allocate.h"
#include "kiln/arch/arch.h"

namespace kiln::check {

// memory.R8 or memory.R9 (a warning in SBUF) for every memory that overflowed: by how much, where, and who is
// alive there.
void report_overflows(const isa::Program& program, const Arch& arch, const analysis::Liveness& liveness,
                      const analysis::Allocation& allocation, std::vector<Diagnostic>& out);

// memory.R10, for the first tensor that finds no room in HBM.
void check_hbm(const isa::Program& program, const Arch& arch, std::vector<Diagnostic>& out);

}  // namespace kiln::check
