// Whether an outline, run as Python runs its source, issues the statements of another one that nothing was rolled in.
#pragma once

#include <utility>

#include "kiln/emit/outline.h"

namespace kiln::emit {

// `core`: the value of the variable around everything, where there is one. `arguments`: those of `rolled`, and which
// ones of `plain` they are.
bool same_statements(const Outline& rolled, const Outline& plain, std::int64_t core,
                     const std::vector<std::pair<Entity, Entity>>& arguments);

}  // namespace kiln::emit
