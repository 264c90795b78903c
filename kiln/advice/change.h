// Change: what advice would have done to the programs, so that the model can be asked what it brings.
#pragma once

#include <vector>

#include "kiln/timing/simulate.h"

namespace kiln::advice {

// Of one core's program. Ids ascend.
struct CoreChange {
  std::vector<isa::InstructionId> narrowed;  // their float32 tiles become bfloat16
  std::vector<isa::InstructionId> moved;     // they run on Change::engine
  std::vector<isa::InstructionId> merged;    // DMAs: Change::merge of them become one
  std::vector<isa::InstructionId> early;     // DMAs: they wait for what they read and write, not for their turn
  std::vector<isa::TensorId> in_turn;        // have Change::buffers buffers in turn
};

struct Change {
  std::vector<CoreChange> cores;  // empty: none of that
  Engine engine = Engine::unknown;
  double merge = 1;
  bool same_bytes = false;  // the DMAs that become one load the same
  int buffers = 1;
  std::vector<timing::WhatIf> constants;
};

}  // namespace kiln::advice
