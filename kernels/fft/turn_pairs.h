// Transposing matrices of complex numbers, from HBM to HBM.
#pragma once

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

// y [columns, 2 rows] = x [rows, 2 columns], transposed; at most 128 rows.
void turn_pairs(isa::Kernel& k, const isa::View& x, const isa::View& y);

}  // namespace kiln::kernels
