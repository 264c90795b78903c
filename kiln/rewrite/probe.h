// Probes: points of a program where a tensor is shown each time that the program passes there. In the program
// that shows them, a probe is a copy of the view to a tensor of its own.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/builder/builder.h"

namespace kiln::rewrite {

// A point where a tensor is to be shown: before a statement of a block.
struct Probe {
  isa::LoopId loop;  // whose body it is; kNone: the program's own
  std::size_t position;
  isa::View view;
};

struct Probed {
  isa::Program program;
  std::vector<isa::InstructionId> copies;  // by probe
};

// The program with these probes, in the order of the program.
Probed with_probes(isa::Program program, std::span<const Probe> probes);

}  // namespace kiln::rewrite
