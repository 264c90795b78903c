#include <fmt/format.h>

#include <algorithm>

#include "kiln/advice/advice_rules.h"
#include "kiln/base/quantity_text.h"

namespace kiln::advice {
namespace {

constexpr double kMostly = 0.5;  // of the time of collectives; less is overlapped already
constexpr double kChunks = 4;

// The ranks that could hide most: collectives on one side, work on the other, and neither while the other goes on.
struct Hideable {
  const timing::RanksAlike* ranks = nullptr;
  double ns = 0;
};

Hideable most_to_hide(const timing::Timeline& t) {
  Hideable most;
  for (const timing::RanksAlike& r : t.ranks) {
    if (static_cast<double>(r.exposed) < kMostly * static_cast<double>(r.links)) continue;
    const timing::Time alone = r.work - (r.links - r.exposed);
    const double ns = timing::to_ns(std::min(r.exposed, alone));
    if (ns > most.ns) most = {&r, ns};
  }
  return most;
}

}  // namespace

std::optional<Advice> exposed_communication(const Evidence& e) {
  const Hideable most = most_to_hide(e.run.timeline);
  if (!most.ranks) return {};
  Places places;
  for (const timing::Event& event : e.run.timeline.events) {
    if (e.run.timeline.lanes[event.lane].links) places.add(e.run.instruction_of(event));
  }
  return Advice{
      .found = fmt::format("collectives are under way for {}, and for {} of it no engine works",
                           time_text(timing::to_ns(most.ranks->links)), time_text(timing::to_ns(most.ranks->exposed))),
      .remedy =
          "cut what is sent into parts, and send each as soon as it is computed while the next one is; or begin "
          "with what needs none of it",
      .places = std::move(places).take(),
      .gain_ns = most.ns * (1 - 1 / kChunks),
      .estimate = fmt::format("what {:.0f} parts hide, when all work but that of the first or the last goes on beside",
                              kChunks)};
}

}  // namespace kiln::advice
