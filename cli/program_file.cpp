#include "cli/program_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/rules.h"
#include "kiln/base/file.h"
#include "kiln/check/reserved_banks.h"
#include "kiln/isa/text/parse.h"

namespace kiln::cli {

isa::Program read_program(const std::string& path, const std::vector<std::string>& source_roots) {
  const bool standard_input = path == "-";
  const std::string text = read_file(standard_input ? "/dev/stdin" : path);
  return isa::parse(text, standard_input ? "<stdin>" : path, {.source_roots = source_roots});
}

CheckedProgram check_file(const std::string& path, std::optional<Target> target,
                          const std::vector<std::string>& source_roots, const check::CheckOptions& options) {
  return check_given(read_program(path, source_roots), target, 0, options);
}

CheckedProgram check_given(isa::Program program, std::optional<Target> target, int reserved_psum_banks,
                           const check::CheckOptions& options) {
  if (target) program.target = *target;
  const Arch chip = check::with_reserved_psum_banks(arch(program.target), reserved_psum_banks);
  check::Report report = check::check_program(program, chip, options);
  return {std::move(program), std::move(report)};
}

void require_pair(const isa::Launch& launch) {
  const auto cores = launch.cores();
  if (cores.size() == 1) return;
  for (const isa::Program* core : cores) {
    if (core->lnc != 2)
      throw Error(broken(cli_rules::kPair, fmt::format("program `{}` says lnc {}", core->name, core->lnc)));
  }
  if (cores[0]->target != cores[1]->target) {
    throw Error(broken(cli_rules::kPair, fmt::format("the targets are {} and {}", arch(cores[0]->target).name,
                                                     arch(cores[1]->target).name)));
  }
}

void require_one_stdin(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1)
    throw Error(broken(cli_rules::kStandardInput, "`-` is given more than once"));
}

}  // namespace kiln::cli
