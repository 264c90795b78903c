// Shared bytes: tensors that were placed by hand where another one lies too.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

// By tensor: whether its bytes may be those of another tensor too. Partitions do not count, so it may say yes of
// tensors that lie beside each other.
std::vector<bool> may_share_bytes(const isa::Program& program);

}  // namespace kiln::analysis
