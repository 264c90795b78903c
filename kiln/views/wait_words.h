// What an instruction waits for, in words.
#pragma once

#include "kiln/timing/timeline.h"

namespace kiln::views {

// "data", "room in memory": completes "waits for …".
const char* words(timing::Wait wait);

}  // namespace kiln::views
