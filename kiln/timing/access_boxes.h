// AccessBoxes: the bytes that the accesses of a program touch in the iterations of now.
#pragma once

#include <vector>

#include "kiln/timing/plan.h"

namespace kiln::timing {

class AccessBoxes {
 public:
  AccessBoxes(const isa::Program& program, const Plan& plan)
      : program_(program), plan_(plan), values_(program.loops.size()) {}

  void set_loop(isa::LoopId loop, std::int64_t value) { values_[loop] = value; }
  Box of(const Use& use) const;
  // Where it would be with another value of one loop's variable.
  Box moved(const Use& use, isa::LoopId loop, std::int64_t by);

 private:
  const isa::Program& program_;
  const Plan& plan_;
  std::vector<std::int64_t> values_;  // by loop: its variable
};

}  // namespace kiln::timing
