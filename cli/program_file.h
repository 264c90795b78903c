// Programs from files: read, parsed, and checked for the chip that the command line or the program names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/check/check_program.h"
#include "kiln/isa/launch.h"
#include "kiln/isa/program.h"

namespace kiln::cli {

struct CheckedProgram {
  isa::Program program;
  check::Report report;
};

// `path` "-" means standard input. `source_roots`: see isa::ParseOptions. Throws Error when the file
// cannot be read or parsed.
isa::Program read_program(const std::string& path, const std::vector<std::string>& source_roots);
CheckedProgram check_file(const std::string& path, std::optional<Target> target,
                          const std::vector<std::string>& source_roots, const check::CheckOptions& options = {});

// The same for a program that is there already.
CheckedProgram check_given(isa::Program program, std::optional<Target> target, int reserved_psum_banks = 0,
                           const check::CheckOptions& options = {});

// Throws Error when two programs are not the two of a pair of cores (lnc 2) on one target.
void require_pair(const isa::Launch& launch);

// Throws Error when standard input is named more than once.
void require_one_stdin(const std::vector<std::string>& paths);

}  // namespace kiln::cli
