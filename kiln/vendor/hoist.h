// Hoisting: a load or computation whose result is still there is not done again.
#pragma once

#include "kiln/vendor/passes.h"

namespace kiln::vendor {

// Two rules, of which the rows of docs/timing.md show the effect. A computation of the same tiles that gives what an
// earlier one gave, and is still there, does not run again. From gen3 on, a tensor in HBM stays in SBUF for the whole
// kernel when all that is loaded of it fits beside everything else. Returns how many instructions run no more.
std::int64_t hoist(isa::Program& program, const Arch& arch, const CompilerSpec& compiler = {});

}  // namespace kiln::vendor
