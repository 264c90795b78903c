// What is wrong with a command line that does not parse.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kiln/base/error.h"

namespace kiln::cli {

Diagnostic usage_error(const CLI::App& root, const CLI::ParseError& error, const std::vector<std::string>& words);

}  // namespace kiln::cli
