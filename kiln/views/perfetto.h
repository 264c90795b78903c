// A picture as a Perfetto trace (TrackEvent protobuf), which ui.perfetto.dev and trace_processor open.
#pragma once

#include <string>

#include "kiln/views/picture.h"

namespace kiln::views {

// One track per engine and queue, a flow per dependency, a counter per curve. Every slice carries its source
// line, and its instruction, exact times and what it waited for as arguments.
std::string to_perfetto(const Picture& picture);

}  // namespace kiln::views
