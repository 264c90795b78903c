#include "kiln/views/timed_run.h"

namespace kiln::views {

analysis::TripCounts TimedRun::trips(int core) const {
  analysis::TripCounts trips;
  for (const isa::Loop& loop : cores()[core]->loops)
    trips.push_back(loop.kind == isa::Loop::Kind::static_for ? loop.trip_count() : 0);
  for (const timing::TripCount& t : timeline.trip_counts) {
    if (t.core == core) trips[t.loop] = t.count;
  }
  return trips;
}

TimedRun time_program(isa::Launch launch, timing::TimingOptions options) {
  const Arch& chip = arch(launch.target());
  timing::Timeline timeline = timing::simulate(launch, chip, options);
  options.reorder = timeline.reordered;  // for whatever is run to compare with it
  options.reorder_up_to = 0;
  return {std::move(launch), timing::apply(chip, options.what_if), std::move(options), std::move(timeline)};
}

TimedRun time_in_full(isa::Launch launch, timing::TimingOptions options, std::int64_t max_instructions) {
  TimedRun run = time_program(std::move(launch), std::move(options));
  if (run.timeline.gaps.empty() || run.timeline.instructions > max_instructions) return run;
  run.options.extrapolate = false;
  return time_program(std::move(run.launch), std::move(run.options));
}

}  // namespace kiln::views
