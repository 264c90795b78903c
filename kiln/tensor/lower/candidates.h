// Candidates: other ways to use engines, PSUM, SBUF and DMAs for a program that fits.
#pragma once

#include "kiln/tensor/lower/solve.h"

namespace kiln::tensor {

// Takes the fastest of the candidates by the timing model.
void improve(Solved& solved, const CompileOptions& options);

}  // namespace kiln::tensor
