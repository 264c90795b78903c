#include <fmt/format.h>

#include "kiln/advice/advice_rules.h"

namespace kiln::advice {

std::optional<Advice> late_collectives(const Evidence& e) {
  Places places;
  std::int64_t count = 0;
  Change change;
  change.cores.resize(e.run.cores().size());
  for (std::size_t core = 0; core < e.run.cores().size(); ++core) {
    const isa::Program& program = *e.run.cores()[core];
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const isa::InstView inst(program, program.instructions[i]);
      if (!inst.facts().collective) continue;
      places.add(inst);
      change.cores[core].early.push_back(static_cast<isa::InstructionId>(i));
      count += e.executions[core][i];
    }
  }
  if (count == 0) return {};
  return Advice{
      .found = fmt::format("{} collectives stand in a queue behind other DMAs, and what they send is there", count),
      .remedy = "issue a collective as soon as what it sends is written, before what is needed later",
      .places = std::move(places).take(),
      .gain_ns = e.gain_with(change),
      .estimate = e.estimate("these collectives begun when what they send is there")};
}

}  // namespace kiln::advice
