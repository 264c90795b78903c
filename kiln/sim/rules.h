// Run-time rules of the machine.
#pragma once

#include <string>
#include <string_view>

#include "kiln/base/error.h"

namespace kiln::sim {

Diagnostic run_diagnostic(std::string_view code, std::string found);

}  // namespace kiln::sim
