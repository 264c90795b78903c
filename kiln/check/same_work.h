// The cores of a pair that do the same.
#pragma once

#include "kiln/isa/launch.h"

namespace kiln::check {

// flow.R4: a warning when the two programs of a pair are the same and write to what the cores share.
void check_shared_work(const isa::Launch& launch, std::vector<Diagnostic>& out);

}  // namespace kiln::check
