#include <fmt/format.h>

#include <limits>

#include "kiln/advice/advice_rules.h"
#include "kiln/base/quantity_text.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/rewrite/costs_after.h"

namespace kiln::advice {
namespace {

// Cycles of the instruction were its float32 tiles bfloat16.
double cycles_in_16_bit(isa::Program& scratch, const isa::Instruction& inst, const Arch& arch) {
  double cycles = std::numeric_limits<double>::infinity();
  rewrite::while_narrow(scratch, inst, [&] { cycles = cost_of(scratch, inst, arch).cycles; });
  return cycles;
}

}  // namespace

std::optional<Advice> vector_fast_mode(const Evidence& e) {
  if (!e.run.arch.features.vector_fast_modes) return {};
  Places places;
  double saved = 0;
  std::int64_t count = 0;
  Change change;
  change.cores.resize(e.run.cores().size());
  for (std::size_t core = 0; core < e.run.cores().size(); ++core) {
    isa::Program& scratch = e.scratch(core);
    for (std::size_t i = 0; i < scratch.instructions.size(); ++i) {
      const isa::InstView inst(scratch, scratch.instructions[i]);
      if (resolve_engine(inst, e.run.arch) != Engine::vector) continue;
      const double then = cycles_in_16_bit(scratch, inst.inst(), e.run.arch);
      const double now = cost_of(scratch, inst.inst(), e.run.arch).cycles;
      if (then >= now) continue;
      saved += static_cast<double>(e.executions[core][i]) * (now - then);
      count += e.executions[core][i];
      places.add(inst);
      change.cores[core].narrowed.push_back(static_cast<isa::InstructionId>(i));
    }
  }
  if (count == 0) return {};
  return Advice{.found = fmt::format("{} vector instructions read or write float32 and miss the fast modes; they "
                                     "would take {} less",
                                     count, time_text(saved / e.run.arch.vector.clock_ghz)),
                .remedy = "keep these tiles in bfloat16 or float16, in SBUF and with unit stride",
                .places = std::move(places).take(),
                .gain_ns = e.gain_with(change),
                .estimate = e.estimate("bfloat16 tiles in these instructions, others as they are")};
}

}  // namespace kiln::advice
