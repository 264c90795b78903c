// A small program of every kernel of a library, by name: what write_programs writes, and test_emitted.py compares.
#pragma once

#include <map>
#include <string>

#include "kiln/isa/program.h"

namespace kiln::kernels::test {

std::map<std::string, isa::Program> programs(Target target);

}  // namespace kiln::kernels::test
