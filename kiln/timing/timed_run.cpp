#include "kiln/timing/timed_run.h"

#include "kiln/timing/rank_kinds.h"

namespace kiln::timing {

analysis::TripCounts TimedRun::trips(int core) const {
  analysis::TripCounts trips;
  for (const isa::Loop& loop : cores()[core]->loops)
    trips.push_back(loop.kind == isa::Loop::Kind::static_for ? loop.trip_count() : 0);
  for (const TripCount& t : timeline.trip_counts) {
    if (t.core == core) trips[t.loop] = t.count;
  }
  return trips;
}

Place place_of(const TimedRun& run, const Event& event) {
  const SourceLoc& loc = run.instruction_of(event).loc();
  return {loc.file, loc.line};
}

TimedRun time_program(isa::Launch launch, TimingOptions options) {
  const Arch& chip = arch(launch.target());
  Timeline timeline = simulate(launch, chip, options);
  options.reorder = timeline.reordered;  // for whatever is run to compare with it
  std::vector<const isa::Program*> programs = timed_programs(launch, rank_kinds(launch));
  Arch changed = chip_of(chip, options);
  return {std::move(launch), changed, std::move(options), std::move(timeline), std::move(programs)};
}

TimedRun time_in_full(isa::Launch launch, TimingOptions options, std::int64_t max_instructions) {
  TimedRun run = time_program(std::move(launch), std::move(options));
  if (is_in_full(run) || run.timeline.instructions > max_instructions) return run;
  run.options.extrapolate = false;
  return time_program(std::move(run.launch), std::move(run.options));
}

}  // namespace kiln::timing
