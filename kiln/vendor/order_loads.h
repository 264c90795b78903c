// Loads in the order in which their tiles are used.
#pragma once

#include "kiln/vendor/passes.h"

namespace kiln::vendor {

// Loads of arguments into tiles that are written once change places with each other, so that what is used first is
// loaded first. Returns how many loads stand elsewhere.
std::int64_t order_loads(isa::Program& program, const Arch& arch, const CompilerSpec& compiler = {});

}  // namespace kiln::vendor
