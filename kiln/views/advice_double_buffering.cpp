#include <fmt/format.h>

#include "kiln/views/advice_rules.h"
#include "kiln/views/format.h"
#include "kiln/views/reuse_waits.h"

namespace kiln::views {

std::optional<Advice> double_buffering(const Evidence& e) {
  ReuseWaits waits =
      find_reuse_waits(e.run, [](const timing::Event& event) { return event.kind != timing::Kind::execute; });
  if (waits.count == 0) return {};
  return Advice{
      .found = fmt::format("DMA waits {} times, {} in all, for a tile that is still in use", waits.count,
                           time_text(waits.lost_ns)),
      .remedy = "use two or more tiles in turn, so that one is loaded or stored while another is used",
      .places = std::move(waits.places),
      .gain_ns = waits.gain_ns(),
      .estimate = kFromPath};
}

}  // namespace kiln::views
