// The commands of `kiln`: picks the subcommand, and is the one place that prints its outcome.
#pragma once

namespace kiln::cli {

// argv[0] is the program's name. Returns the exit code: 0 fine, 1 the program breaks a rule, 2 wrong usage or
// file, 3 a bug of kiln.
int main(int argc, char** argv);

}  // namespace kiln::cli
