// ProgramChange: a program as it would run after a change that its text does not have yet. What advice asks.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::timing {

struct ProgramChange {
  // The same instructions with other element types or on other engines: how long each takes comes from here,
  // what it touches from the program itself. Null: from the program.
  const isa::Program* costs = nullptr;
  // Tensors that have `buffers` copies, used in turn: a value that does not depend on the one before it goes
  // into the next copy.
  std::vector<isa::TensorId> in_turn;
  int buffers = 1;
  // DMAs of which `merge` become one: they share its trigger and its packets, and, when they all load the
  // same, its bytes.
  std::vector<isa::InstructionId> merged;
  double merge = 1;
  bool same_bytes = false;
  // DMAs that wait for what they read and write, but not for their turn in a stream.
  std::vector<isa::InstructionId> early;
};

}  // namespace kiln::timing
