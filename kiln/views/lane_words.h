// What a lane of a timeline is, in words.
#pragma once

#include "kiln/timing/timeline.h"

namespace kiln::views {

const char* words(const timing::Lane& lane);

}  // namespace kiln::views
