#include <fmt/format.h>

#include <algorithm>

#include "kiln/advice/advice_rules.h"
#include "kiln/advice/picked.h"
#include "kiln/base/quantity_text.h"
#include "kiln/isa/instructions/shared/collective.h"

namespace kiln::advice {

std::optional<Advice> small_messages(const Evidence& e) {
  double bytes = 0, steps_ns = 0, busy_ns = 0;
  Picked small = pick(e, &CoreChange::merged, [&](std::size_t, const isa::InstView& inst, std::int64_t times) {
    if (!inst.facts().collective) return false;
    const isa::LinkTime t = link_time(isa::CostQuery(inst.program(), inst.inst(), e.run.arch));
    if (t.steps_ns <= t.busy_ns) return false;
    bytes += t.sent_bytes * static_cast<double>(times);
    steps_ns += t.steps_ns * static_cast<double>(times);
    busy_ns += t.busy_ns * static_cast<double>(times);
    return true;
  });
  const auto count = static_cast<double>(small.executed);
  if (small.executed < 2) return {};  // one cannot be merged
  small.change.merge = std::min(count, std::max(2.0, steps_ns / std::max(busy_ns, 1.0)));
  return Advice{.found = fmt::format("{} collectives send {} each: {} of their {} are steps from rank to rank",
                                     small.executed, bytes_text(bytes / count), time_text(steps_ns / count),
                                     time_text((steps_ns + busy_ns) / count)),
                .remedy = "send several tensors with one collective (srcs=[a, b], in HBM), or one larger tensor",
                .places = std::move(small.places).take(),
                .gain_ns = e.gain_with(small.change),
                .estimate = e.estimate(
                    fmt::format("triggers and steps of {:.1f} of these collectives made one", small.change.merge))};
}

}  // namespace kiln::advice
