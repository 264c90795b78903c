// The commands of `kiln`: picks the subcommand, and is the one place that prints its outcome.
#pragma once

#include <string>
#include <vector>

#include "cli/host.h"

namespace kiln::cli {

// The words are those after the program's name. Returns the exit code: 0 fine, 1 the program breaks a rule, 2 wrong
// usage or file, 3 a bug of kiln.
int main(std::vector<std::string> words, const Host& host);

}  // namespace kiln::cli
