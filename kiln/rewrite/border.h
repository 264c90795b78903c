// The border of a program: what it takes and what it gives.
#pragma once

#include <span>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

// Internal tensors among `outputs` become outputs, inout tensors that nothing writes become inputs.
void draw_border(isa::Program& program, std::span<const isa::TensorId> outputs);
isa::Program with_border(isa::Program program, std::span<const isa::TensorId> outputs);

}  // namespace kiln::rewrite
