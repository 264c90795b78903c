#include "cli/program_file.h"

#include <algorithm>

#include "cli/rules.h"
#include "kiln/base/file.h"
#include "kiln/isa/parse.h"

namespace kiln::cli {

CheckedProgram check_file(const std::string& path, std::optional<Target> target) {
  const bool standard_input = path == "-";
  const std::string text = read_file(standard_input ? "/dev/stdin" : path);
  isa::Program program = isa::parse(text, standard_input ? "<stdin>" : path);
  if (target) program.target = *target;
  check::Report report = check::check_program(program, arch(program.target));
  return {std::move(program), std::move(report)};
}

void require_one_stdin(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1)
    throw Error(broken(CliRule::standard_input, "`-` is given more than once"));
}

}  // namespace kiln::cli
