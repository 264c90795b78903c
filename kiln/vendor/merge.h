// Merging: a short loop of small instructions runs as one instruction for each of its statements.
#pragma once

#include "kiln/vendor/passes.h"

namespace kiln::vendor {

// Innermost loops of nl.affine_range with few passes whose statements work on a few elements each, on tiles that move
// with the loop (ACMP-conv1d-6: 64 passes were merged; ACMP-conv1d-3: 2048 were not). What such instructions take
// beyond their elements they share, and they run statement by statement. Returns how many instructions share it.
std::int64_t merge(isa::Program& program, const Arch& arch, const CompilerSpec& compiler = {});

}  // namespace kiln::vendor
