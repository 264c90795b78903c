// The verdict on a program before it runs: structure, instruction rules, placement, capacity, inputs and
// outputs.
#pragma once

#include "kiln/analysis/allocate.h"
#include "kiln/arch/arch.h"

namespace kiln::check {

inline constexpr std::size_t kMaxDiagnostics = 100;

struct Report {
  std::vector<Diagnostic> diagnostics;  // the first kMaxDiagnostics, errors before warnings once there are more
  std::size_t left_out = 0;             // diagnostics beyond those
  analysis::Allocation allocation;      // without overflow when ok()
  bool ok() const;                      // no error; warnings are allowed
};
Report check_program(const isa::Program& program, const Arch& arch);

}  // namespace kiln::check
