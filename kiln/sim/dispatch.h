// Dispatch: computes an instruction's values, now or as a task behind every unfinished task that touches the same
// bytes or the same state of an engine.
#pragma once

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/operand.h"
#include "kiln/sim/task.h"

namespace kiln::sim {

class Dispatch {
 public:
  explicit Dispatch(TaskQueue& queue) : queue_(queue) {}

  // `state`: the StateBits of the engines that the instruction touches. `bindings` keep the operands' storages alive
  // until the values are there.
  void issue(isa::Run& run, unsigned state, const Operands& operands, const Bindings& bindings);

 private:
  bool must_wait(unsigned state, const Operands& operands) const;
  void add_uses(const TaskRef& task, unsigned state, const Operands& operands);

  TaskQueue& queue_;
  TaskRef last_user_[4];  // of each StateBit
};

}  // namespace kiln::sim
