// The commands of `kiln`: picks the subcommand, and is the one place that prints its outcome.
#pragma once

#include "cli/given.h"

namespace kiln::cli {

// argv[0] is the program's name. `given`: FILEs of `kiln time` that are no files. Returns the exit code: 0 fine, 1 the
// program breaks a rule, 2 wrong usage or file, 3 a bug of kiln.
int main(int argc, char** argv, const GivenPrograms& given = {});

}  // namespace kiln::cli
