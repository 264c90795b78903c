// Spread rows: tiles that hold one row in every partition, made as nl.broadcast_to makes them: by a product
// with ones in PSUM and a copy to SBUF. That gen2's compiler lets instructions read them in PSUM is inferred
// from measured kernels, not documented.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

struct SpreadRow {
  isa::TensorId tile;          // in SBUF
  isa::InstructionId copying;  // the one that fills it
};

std::vector<SpreadRow> find_spread_rows(const isa::Program& program);

}  // namespace kiln::analysis
