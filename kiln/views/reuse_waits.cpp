#include "kiln/views/reuse_waits.h"

#include <algorithm>

namespace kiln::views {
namespace {

constexpr double kLeastShare = 0.05;  // of the time lost, for a line to be named

bool is_reuse(timing::Wait wait) {
  return wait == timing::Wait::overwrite || wait == timing::Wait::rewrite || wait == timing::Wait::memory;
}

double idle_of_busiest(const timing::Timeline& t) {
  timing::Time busiest = t.dma_busy;
  for (const timing::Lane& lane : t.lanes) {
    if (lane.queue < 0) busiest = std::max(busiest, lane.busy);
  }
  return timing::to_ns(t.total - busiest);
}

// Lines with the time lost because of them, in order of appearance.
class Losses {
 public:
  void add(const Place& place, double ns) {
    const auto found =
        std::find_if(losses_.begin(), losses_.end(), [&](auto& l) { return l.first == place; });
    if (found == losses_.end()) {
      losses_.emplace_back(place, ns);
    } else {
      found->second += ns;
    }
  }
  void append_to(std::vector<Place>& places, double least_ns) const {
    for (const auto& [place, ns] : losses_) {
      if (ns >= least_ns && std::find(places.begin(), places.end(), place) == places.end())
        places.push_back(place);
    }
  }

 private:
  std::vector<std::pair<Place, double>> losses_;
};

}  // namespace

double ReuseWaits::gain_ns() const {
  return std::min({lost_ns, writer_critical_ns, other_critical_ns, idle_ns});
}

ReuseWaits find_reuse_waits(const TimedRun& run, FunctionRef<bool(const timing::Event&)> is_writer) {
  ReuseWaits found;
  Losses waiting, in_the_way;
  for (const timing::Event& event : run.timeline.events) {
    if (!is_reuse(event.wait) || event.start == event.issue || !is_writer(event)) continue;
    const double lost = timing::to_ns(event.start - event.issue) * static_cast<double>(event.repeats);
    found.lost_ns += lost;
    found.count += event.repeats;
    waiting.add(place_of(run, event), lost);
    if (event.because < run.timeline.events.size())
      in_the_way.add(place_of(run, run.timeline.events[event.because]), lost);
  }
  for (const timing::CriticalStep& step : run.timeline.critical_path) {
    double& part =
        is_writer(run.timeline.events[step.event]) ? found.writer_critical_ns : found.other_critical_ns;
    part += timing::to_ns(step.time);
  }
  found.idle_ns = idle_of_busiest(run.timeline);
  waiting.append_to(found.places, kLeastShare * found.lost_ns);
  in_the_way.append_to(found.places, kLeastShare * found.lost_ns);
  return found;
}

}  // namespace kiln::views
