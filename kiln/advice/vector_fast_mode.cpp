#include <fmt/format.h>

#include <limits>

#include "kiln/advice/advice_rules.h"
#include "kiln/advice/picked.h"
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
  double saved = 0;
  Picked slow = pick(e, &CoreChange::narrowed, [&](std::size_t core, const isa::InstView& inst, std::int64_t times) {
    if (resolve_engine(inst, e.run.arch) != Engine::vector) return false;
    const double now = cost_of(inst.program(), inst.inst(), e.run.arch).cycles;
    const double then = cycles_in_16_bit(e.scratch(core), inst.inst(), e.run.arch);
    if (then >= now) return false;
    saved += static_cast<double>(times) * (now - then);
    return true;
  });
  if (slow.executed == 0) return {};
  return Advice{.found = fmt::format("{} vector instructions read or write float32 and miss the fast modes; they "
                                     "would take {} less",
                                     slow.executed, time_text(saved / e.run.arch.vector.clock_ghz)),
                .remedy = "keep these tiles in bfloat16 or float16, in SBUF and with unit stride",
                .places = std::move(slow.places).take(),
                .gain_ns = e.gain_with(slow.change),
                .estimate = e.estimate("bfloat16 tiles in these instructions, others as they are")};
}

}  // namespace kiln::advice
