// The verdicts on one kernel for every chip, side by side.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kiln/check/summary.h"

namespace kiln::cli {

// One verdict for each chip, in the order of all_archs(); the title is the first one's.
std::string side_by_side(std::span<const check::Verdict> verdicts);

// The diagnostics for each chip, in that order, with those once that several have; a note names the other chips.
std::vector<Diagnostic> each_once(std::span<const std::vector<Diagnostic>> by_chip);

}  // namespace kiln::cli
