// What a subcommand hands back. Subcommands do not print: main shows the outcome and turns it into an exit
// code.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kiln/base/error.h"

namespace kiln::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitBroken = 1,    // the program breaks a rule
  kExitUsage = 2,     // the command line or a file is wrong, or kiln cannot do it yet
  kExitInternal = 3,  // our bug
};

struct Outcome {
  std::string out;                      // for stdout
  std::vector<Diagnostic> diagnostics;  // for stderr; with --json they are part of `out`
  bool is_told_elsewhere = false;       // by another process of the run, unless there are errors
};

// The worst of the errors decides; warnings alone are fine.
ExitCode exit_code(const std::vector<Diagnostic>& diagnostics);

bool is_error(const Diagnostic& diagnostic);

nlohmann::ordered_json json_of(const std::vector<Diagnostic>& diagnostics);
// Never throws on bytes that are no UTF-8: file names may hold them.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace kiln::cli
