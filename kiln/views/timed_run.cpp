#include "kiln/views/timed_run.h"

namespace kiln::views {

analysis::TripCounts TimedRun::trips(int core) const {
  analysis::TripCounts trips;
  for (const isa::Loop& loop : cores[core]->loops)
    trips.push_back(loop.kind == isa::Loop::Kind::static_for ? loop.trip_count() : 0);
  for (const timing::TripCount& t : timeline.trip_counts) {
    if (t.core == core) trips[t.loop] = t.count;
  }
  return trips;
}

TimedRun time_program(std::vector<const isa::Program*> cores, timing::TimingOptions options) {
  const Arch& chip = arch(cores.at(0)->target);
  timing::Timeline timeline =
      cores.size() == 1 ? timing::simulate(*cores[0], chip, options) : timing::simulate(cores, chip, options);
  options.reorder = timeline.reordered;  // for whatever is run to compare with it
  options.reorder_up_to = 0;
  return {std::move(cores), timing::apply(chip, options.what_if), std::move(options), std::move(timeline)};
}

TimedRun time_in_full(std::vector<const isa::Program*> cores, timing::TimingOptions options,
                      std::int64_t max_instructions) {
  TimedRun run = time_program(std::move(cores), std::move(options));
  if (run.timeline.gaps.empty() || run.timeline.instructions > max_instructions) return run;
  run.options.extrapolate = false;
  return time_program(std::move(run.cores), std::move(run.options));
}

}  // namespace kiln::views
