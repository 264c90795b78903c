// Picked: the instructions of all cores that a rule of advice speaks of, and the change that concerns them.
#pragma once

#include "kiln/advice/advice.h"
#include "kiln/base/function_ref.h"

namespace kiln::advice {

struct Picked {
  Places places;
  Change change;
  std::int64_t executed = 0;  // how often they run, all together
};

// Instructions for which `wanted` (the core, the instruction, how often it runs) is true, as `part` of the change.
using Wanted = FunctionRef<bool(std::size_t core, const isa::InstView& inst, std::int64_t times)>;
Picked pick(const Evidence& e, std::vector<isa::InstructionId> CoreChange::*part, Wanted wanted);

}  // namespace kiln::advice
