// Precision: programs whose low-precision tensors are stored as float32, to tell errors of logic from loss of
// precision.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

struct Widened {
  std::vector<isa::Program> programs;
  std::set<std::string> tensors;  // names of those that are float32 now
};

// The programs of one run: a tensor that keeps its format in one of them keeps it in all.
Widened widen(std::span<const isa::Program* const> programs);

}  // namespace kiln::rewrite
