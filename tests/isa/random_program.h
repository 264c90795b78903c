// Random programs over all instructions: their structure is sound (verify finds nothing), their meaning is
// arbitrary.
#pragma once

#include <cstdint>

#include "kiln/isa/program.h"

namespace kiln::isa {

struct RandomProgramOptions {
  int statements = 40;    // about
  bool odd_names = true;  // names that need quoting
};

// Pools are filled in the order of the text, so that parse(print(p)) has the same indices as p.
Program random_program(std::uint64_t seed, const RandomProgramOptions& options = {});

}  // namespace kiln::isa
