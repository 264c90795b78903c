// StateOrder: what instructions wait for besides memory: registers, hidden state of the engines, and the dependencies
// that a kernel states.
#pragma once

#include <vector>

#include "kiln/timing/issue.h"
#include "kiln/timing/plan.h"

namespace kiln::timing {

class StateOrder {
 public:
  // `ordered`: ops start in program order, so what reads a register starts before it is set again.
  StateOrder(const isa::Program& program, const Plan& plan, bool ordered);

  // Adds what the instruction waits for, and becomes part of what later ones wait for.
  void touch(Issue& issue, const Op& op);
  OpId writer(isa::RegisterId id) const { return writer_[id]; }  // the last one; kNoOp

 private:
  static constexpr int kStates = 4;  // isa::StateBit
  void touch_registers(Issue& issue, const Op& op);
  void touch_stated(Issue& issue);

  const isa::Program& program_;
  const Plan& plan_;
  bool ordered_;
  std::vector<OpId> writer_;                // by register
  std::vector<std::vector<OpId>> readers_;  // by register, since it was written
  OpId state_user_[kStates] = {kNoOp, kNoOp, kNoOp, kNoOp};
  std::vector<OpId> last_op_of_;  // by instruction, when the program states dependencies
};

}  // namespace kiln::timing
