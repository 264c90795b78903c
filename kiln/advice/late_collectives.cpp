#include <fmt/format.h>

#include "kiln/advice/advice_rules.h"
#include "kiln/advice/picked.h"

namespace kiln::advice {

std::optional<Advice> late_collectives(const Evidence& e) {
  Picked late = pick(e, &CoreChange::early, [](std::size_t, const isa::InstView& inst, std::int64_t) {
    return static_cast<bool>(inst.facts().collective);
  });
  if (late.executed == 0) return {};
  return Advice{.found = fmt::format("{} collectives stand in a queue behind other DMAs, and what they send is there",
                                     late.executed),
                .remedy = "issue a collective as soon as what it sends is written, before what is needed later",
                .places = std::move(late.places).take(),
                .gain_ns = e.gain_with(late.change),
                .estimate = e.estimate("these collectives begun when what they send is there")};
}

}  // namespace kiln::advice
