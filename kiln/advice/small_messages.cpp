#include <fmt/format.h>

#include <algorithm>

#include "kiln/advice/advice_rules.h"
#include "kiln/base/quantity_text.h"
#include "kiln/isa/instructions/shared/collective.h"

namespace kiln::advice {

std::optional<Advice> small_messages(const Evidence& e) {
  Places places;
  double bytes = 0, steps_ns = 0, busy_ns = 0;
  std::int64_t messages = 0;
  Change change;
  change.cores.resize(e.run.cores().size());
  for (std::size_t core = 0; core < e.run.cores().size(); ++core) {
    const isa::Program& program = *e.run.cores()[core];
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const isa::CostQuery q(program, program.instructions[i], e.run.arch);
      if (!q.facts().collective) continue;
      const isa::LinkTime t = link_time(q);
      if (t.steps_ns <= t.busy_ns) continue;
      places.add(q);
      change.cores[core].merged.push_back(static_cast<isa::InstructionId>(i));
      const std::int64_t times = e.executions[core][i];
      messages += times;
      bytes += t.sent_bytes * static_cast<double>(times);
      steps_ns += t.steps_ns * static_cast<double>(times);
      busy_ns += t.busy_ns * static_cast<double>(times);
    }
  }
  if (messages < 2) return {};  // one cannot be merged
  change.merge = std::min(static_cast<double>(messages), std::max(2.0, steps_ns / std::max(busy_ns, 1.0)));
  const auto count = static_cast<double>(messages);
  return Advice{
      .found =
          fmt::format("{} collectives send {} each: {} of their {} are steps from rank to rank", messages,
                      bytes_text(bytes / count), time_text(steps_ns / count), time_text((steps_ns + busy_ns) / count)),
      .remedy = "send several tensors with one collective (srcs=[a, b], in HBM), or one larger tensor",
      .places = std::move(places).take(),
      .gain_ns = e.gain_with(change),
      .estimate = e.estimate(fmt::format("triggers and steps of {:.1f} of these collectives made one", change.merge))};
}

}  // namespace kiln::advice
