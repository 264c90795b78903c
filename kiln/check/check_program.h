// The verdict on a program before it runs: structure, instruction rules, placement, capacity, inputs and
// outputs.
#pragma once

#include "kiln/check/capacity.h"

namespace kiln::check {

inline constexpr std::size_t kMaxDiagnostics = 100;

struct Report {
  std::vector<Diagnostic> diagnostics;  // the first kMaxDiagnostics, errors before warnings once there are more
  std::size_t left_out = 0;             // diagnostics beyond those
  analysis::Allocation allocation;      // without an overflow that is an error when ok()
  bool ok() const;                      // no error; warnings are allowed
};

struct CheckOptions {
  bool strict_order = false;  // what fits only when instructions are reordered is an error
  bool warnings = true;       // false: what is legal is not looked at further
  bool unwritten = false;     // tiles that are read before they are written: a run finds them by their bytes
};
Report check_program(const isa::Program& program, const Arch& arch, const CheckOptions& options = {});

}  // namespace kiln::check
