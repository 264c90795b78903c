// Pass: which pass of the loops around it an executed instruction belongs to.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::isa {

// Of a loop on a condition, which has no variable, the value is the number of passes before this one.
struct LoopValue {
  LoopId loop;
  std::int64_t value;
};
using Pass = std::vector<LoopValue>;  // outermost loop first

// Whoever knows it, for those who will ask only when there is something to report.
class PassSource {
 public:
  virtual Pass pass() const = 0;

 protected:
  ~PassSource() = default;
};

}  // namespace kiln::isa
