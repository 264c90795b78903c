// Watched instructions: what they have written is shown to the caller as soon as it is there.
#pragma once

#include <functional>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/machine.h"

namespace kiln::sim {

class Watch {
 public:
  // `core`: its number in the run.
  Watch(const isa::Program& program, const RunOptions& options, int core);

  bool is_watched(isa::InstructionId id) const { return !watched_.empty() && watched_[id]; }
  // The tensor that is shown: that of the first operand.
  isa::TensorId tensor_of(isa::InstructionId id) const;
  // Its values must be there.
  void show(isa::InstructionId id, const Bindings& bindings) const;

 private:
  const isa::Program& program_;
  const std::function<void(const Sight&)>& see_;
  const int core_;
  std::vector<bool> watched_;  // per instruction; empty when nothing is watched
};

}  // namespace kiln::sim
