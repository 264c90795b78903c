// `kiln compile`: tensor programs to instructions.
#pragma once

#include "cli/options.h"

namespace kiln::cli {

Command add_compile(CLI::App& root);

}  // namespace kiln::cli
