#include <fmt/format.h>

#include "kiln/views/advice_rules.h"
#include "kiln/views/format.h"
#include "kiln/views/reuse_waits.h"

namespace kiln::views {

std::optional<Advice> psum_evacuation(const Evidence& e) {
  ReuseWaits waits = find_reuse_waits(e.run, [&](const timing::Event& event) {
    return e.run.timeline.lanes[event.lane].engine == Engine::tensor;
  });
  if (waits.count == 0) return {};
  return Advice{
      .found = fmt::format("the tensor engine waits {} times, {} in all, until its PSUM tile is emptied",
                           waits.count, time_text(waits.lost_ns)),
      .remedy = "use two or more PSUM tiles in turn, so that one is filled while another is emptied",
      .places = std::move(waits.places),
      .gain_ns = waits.gain_ns(),
      .estimate = kFromPath};
}

}  // namespace kiln::views
