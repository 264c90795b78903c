// Rules about single on-chip tensors: their size, and the addresses given by hand.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/base/error.h"
#include "kiln/isa/program.h"

namespace kiln::check {

// memory.R1 to memory.R6: for one tensor, and for all that are on chip in the order of declaration.
void check_tensor(const isa::Program& program, const isa::Tensor& tensor, const Arch& arch,
                  std::vector<Diagnostic>& out);
void check_placement(const isa::Program& program, const Arch& arch, std::vector<Diagnostic>& out);

}  // namespace kiln::check
