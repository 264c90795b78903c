// Meetings: instructions that wait for the other core of a logical pair.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::analysis {

// How many of a statement or a program wait for the other core; those of a loop's body count once.
int meetings(const isa::Program& program, const isa::Node& node);
int meetings(const isa::Program& program);

}  // namespace kiln::analysis
