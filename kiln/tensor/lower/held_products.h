// Level 2 of a program for one core: candidates are compared (candidates.h), also those of the same program with chains
// of products of a few hundred rows the other way round (passes/held_matrices.h).
#pragma once

#include "kiln/tensor/lower/solve.h"

namespace kiln::tensor {

Solved improved(Solved solved, const CompileOptions& options);

}  // namespace kiln::tensor
