// Whether the on-chip tensors of a program fit, and what to say when they do not.
#pragma once

#include "kiln/analysis/allocate.h"
#include "kiln/arch/arch.h"

namespace kiln::check {

// memory.R8 or memory.R9 (a warning in SBUF) for every memory that overflows: by how much, where, and who is alive
// there. Warnings when the tensors fit in another order of the instructions, unless `strict_order`; the allocation is
// then that order's, without addresses.
analysis::Allocation check_capacity(const isa::Program& program, const Arch& arch, const analysis::Liveness& liveness,
                                    bool strict_order, std::vector<Diagnostic>& out);

// memory.R10, for the first tensor that finds no room in HBM.
void check_hbm(const isa::Program& program, const Arch& arch, std::vector<Diagnostic>& out);

// Whether a diagnostic is about on-chip memory that is too small, which spilling to HBM helps against.
bool spilling_helps(const Diagnostic& d);

}  // namespace kiln::check
