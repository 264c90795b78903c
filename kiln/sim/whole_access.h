// Whether an access is all of its tensor, in the order of the tensor, whatever loops and values are.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::sim {

// The elements follow each other without a gap.
bool is_dense(const isa::Dim* dims, int rank);

bool covers(const isa::Access& access, const isa::Tensor& tensor);

}  // namespace kiln::sim
