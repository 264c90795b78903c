#include "kiln/advice/picked.h"

namespace kiln::advice {

Picked pick(const Evidence& e, std::vector<isa::InstructionId> CoreChange::*part, Wanted wanted) {
  Picked picked;
  picked.change.cores.resize(e.run.cores().size());
  for (std::size_t core = 0; core < e.run.cores().size(); ++core) {
    const isa::Program& program = *e.run.cores()[core];
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const isa::InstView inst(program, program.instructions[i]);
      const std::int64_t times = e.executions[core][i];
      if (!wanted(core, inst, times)) continue;
      picked.places.add(inst);
      (picked.change.cores[core].*part).push_back(static_cast<isa::InstructionId>(i));
      picked.executed += times;
    }
  }
  return picked;
}

}  // namespace kiln::advice
