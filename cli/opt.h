// `kiln opt`: the passes over a tensor program one by one, and the table of its ops.
#pragma once

#include "cli/options.h"

namespace kiln::cli {

Command add_opt(CLI::App& root);

}  // namespace kiln::cli
