// The text of users' sources, for diagnostics and pages. Only regular files of bounded size are read, and none that a
// program's text names on its own: it may have come from anywhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kiln/base/error.h"

namespace kiln {

// The file of a place; nothing when it cannot be had or must not be shown. Reading never waits.
std::optional<std::string> source_text(const SourceLoc& loc);

// The line of a place, without its end; empty when it cannot be had or must not be shown.
std::string source_line(const SourceLoc& loc);

// Whether a file lies in one of the folders or below, links followed.
bool lies_below(const std::string& file, const std::vector<std::string>& folders);

}  // namespace kiln
