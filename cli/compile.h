// `kiln compile` and `kiln opt`: tensor programs to instructions, and passes one by one.
#pragma once

#include "cli/options.h"

namespace kiln::cli {

Command add_compile(CLI::App& root);
Command add_opt(CLI::App& root);

}  // namespace kiln::cli
