#include "kiln/views/reuse_waits.h"

#include <algorithm>
#include <map>

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
    const auto [found, is_new] = index_.emplace(place, losses_.size());
    if (is_new) losses_.emplace_back(place, 0);
    losses_[found->second].second += ns;
  }
  // Lines that matter: of very many small ones, all.
  void append_to(Places& places, double total_ns) const {
    const double least = std::min(kLeastShare, 0.5 / static_cast<double>(losses_.size())) * total_ns;
    for (const auto& [place, ns] : losses_) {
      if (ns >= least) places.add(place);
    }
  }

 private:
  std::vector<std::pair<Place, double>> losses_;
  std::map<Place, std::size_t> index_;
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
  Places places;
  waiting.append_to(places, found.lost_ns);
  in_the_way.append_to(places, found.lost_ns);
  found.places = std::move(places).take();
  return found;
}

}  // namespace kiln::views
