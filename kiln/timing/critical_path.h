// The chain of events that decides the total: from the last one back to what let it start, and so on.
#pragma once

#include "kiln/timing/timeline.h"

namespace kiln::timing {

std::vector<CriticalStep> critical_path(const Timeline& timeline);

}  // namespace kiln::timing
