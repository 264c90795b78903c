// The text form of a Program; docs/text-form.md describes it. What print writes, parse reads back exactly. A
// whole program must be well formed (program.R1 and R2); single instructions and accesses print whatever they
// hold.
#pragma once

#include <string>

#include "kiln/isa/program.h"

namespace kiln::isa {

struct PrintOptions {
  bool locations = true;  // `@ "file":line` behind statements
};

std::string print(const Program& program, const PrintOptions& options = {});

// One line without label, dependencies and location; context for diagnostics.
std::string print(const Program& program, const Instruction& instruction);
std::string print(const Program& program, const Access& access);

}  // namespace kiln::isa
