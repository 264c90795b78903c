// Subcommands that are planned: they exist to say so.
#pragma once

#include <vector>

#include "cli/options.h"

namespace kiln::cli {

inline constexpr const char* kPlannedGroup = "Not yet";

std::vector<Command> add_planned(CLI::App& root);

}  // namespace kiln::cli
