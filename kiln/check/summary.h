// The verdict of a check in a few lines, with what legal programs use.
#pragma once

#include <span>
#include <string>

#include "kiln/check/check_program.h"
#include "kiln/isa/program.h"

namespace kiln::check {

// One program of those that run together.
struct Checked {
  const isa::Program* program;
  const analysis::Allocation* allocation;
};

struct Verdict {
  std::string title;  // what was checked, in the user's words
  std::size_t errors = 0, warnings = 0, left_out = 0;
  std::vector<Checked> cores = {};  // empty when there is no program
};
std::string summary(const Verdict& verdict);

}  // namespace kiln::check
