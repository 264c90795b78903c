#include "kiln/views/reuse_waits.h"

#include <algorithm>

namespace kiln::views {
namespace {

bool is_reuse(timing::Wait wait) {
  return wait == timing::Wait::overwrite || wait == timing::Wait::rewrite || wait == timing::Wait::memory;
}

}  // namespace

double ReuseWaits::gain_ns() const { return std::min({lost_ns, writer_critical_ns, other_critical_ns}); }

ReuseWaits find_reuse_waits(const TimedRun& run, FunctionRef<bool(const timing::Event&)> is_writer) {
  ReuseWaits found;
  Places waiting, in_the_way;
  for (const timing::Event& event : run.timeline.events) {
    if (!is_reuse(event.wait) || event.start == event.issue || !is_writer(event)) continue;
    found.lost_ns += timing::to_ns(event.start - event.issue) * static_cast<double>(event.repeats);
    found.count += event.repeats;
    waiting.add(run.instruction_of(event));
    if (event.because < run.timeline.events.size())
      in_the_way.add(run.instruction_of(run.timeline.events[event.because]));
  }
  for (const timing::CriticalStep& step : run.timeline.critical_path) {
    double& part =
        is_writer(run.timeline.events[step.event]) ? found.writer_critical_ns : found.other_critical_ns;
    part += timing::to_ns(step.time);
  }
  found.places = std::move(waiting).take();
  for (const Place& place : std::move(in_the_way).take()) {
    if (std::find(found.places.begin(), found.places.end(), place) == found.places.end())
      found.places.push_back(place);
  }
  return found;
}

}  // namespace kiln::views
