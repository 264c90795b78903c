// kiln emit: a program as NKI source.
#pragma once

#include "cli/options.h"

namespace kiln::cli {

Command add_emit(CLI::App& root);

}  // namespace kiln::cli
