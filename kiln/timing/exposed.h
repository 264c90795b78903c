// Exposed communication: collectives under way while no engine of their rank works.
#pragma once

#include "kiln/timing/timeline.h"

namespace kiln::timing {

// Sets links, exposed and work of Timeline::ranks from all its events.
void add_exposed(Timeline& t, int cores_per_rank);

}  // namespace kiln::timing
