// Products of complex rows with one table, element by element, from HBM to HBM.
#pragma once

#include "kernels/fft/table.h"

namespace kiln::kernels {

// y [rows, 2 length] = x [rows, ≥ 2 count] times the table [1, 2 count]; what is beyond `count` is zero. With x equal
// to y the rows are replaced.
void multiply_rows(isa::Kernel& k, const isa::View& x, const isa::View& y, const isa::View& table);

}  // namespace kiln::kernels
