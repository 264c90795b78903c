// Any bytes steer a random program, or those of a pair of cores. What passes check has a time, the same each time it is
// asked for, in which everything adds up.
#include <limits>
#include <map>

#include "kiln/analysis/trips.h"
#include "kiln/check/check_program.h"
#include "kiln/timing/simulate.h"
#include "kiln/timing/trips.h"
#include "tests/fuzz/require.h"
#include "tests/programs/random_program.h"

namespace {

using namespace kiln;
using timing::Event;
using timing::Time;
using timing::Timeline;

constexpr double kMostExecuted = 1000;  // instructions; an input stays far below a second
constexpr isa::RandomProgramOptions kLoops{.legal = true, .statements = 10, .depth = 3, .trips = 40};

timing::TimingOptions options_for(const Programs& programs, Choices& choices) {
  timing::TimingOptions options;
  for (const isa::Program& p : programs) {
    for (const isa::Loop& loop : p.loops) {
      if (loop.kind != isa::Loop::Kind::static_for) options.trip_counts.try_emplace(loop.variable, choices.below(6));
    }
  }
  options.reorder = choices.chance(3);
  return options;
}

double executed(const Programs& programs, const timing::TimingOptions& options) {
  double sum = 0;
  for (const isa::Program& p : programs)
    sum += analysis::executed_instructions(p, p.body, timing::trip_counts(p, options));
  return sum;
}

void check_events(const Programs& programs, const Timeline& t) {
  for (const Event& e : t.events) {
    require(e.lane < t.lanes.size(), programs, "an event on no lane");
    require(e.issue <= e.start && e.start <= e.end && e.end <= t.total, programs, "an event out of order");
    require(e.occupied >= 0 && e.start + e.occupied <= t.total, programs, "an event occupies its lane for too long");
    require(e.because == isa::kNone || e.because < t.events.size(), programs, "an event because of none");
  }
}

void check_span(const Programs& programs, const timing::Lane& lane, const char* what, Time span, Time most) {
  if (0 <= span && span <= most) return;
  std::printf("%s: %s %lld ps, of %lld\n", lane.name.c_str(), what, static_cast<long long>(span),
              static_cast<long long>(most));
  require(false, programs, "a lane has times that cannot be");
}

void check_lanes(const Programs& programs, const Timeline& t) {
  for (const timing::Lane& lane : t.lanes) {
    check_span(programs, lane, "busy", lane.busy, t.total);
    check_span(programs, lane, "active", lane.active, t.total);
    // Transfers of a queue wait side by side.
    const Time most = lane.queue < 0 ? t.total : std::numeric_limits<Time>::max();
    for (int w = 0; w < timing::kWaitCount; ++w)
      check_span(programs, lane, name(static_cast<timing::Wait>(w)), lane.waiting[w], most);
  }
}

// An instruction starts after those that it says it comes after: on the same lane when they have started, otherwise
// when they are done. A DMA starts with its trigger and is done with its transfer.
void check_dependencies(const Programs& programs, const Timeline& t) {
  std::map<std::pair<int, isa::InstructionId>, Event> before;
  for (const Event& e : t.events) {
    const int core = t.lanes[e.lane].core;
    const isa::Program& p = programs[core];
    const isa::Instruction& inst = p.instructions[e.inst];
    for (std::uint32_t i = 0; i < inst.dep_count && e.kind != timing::Kind::transfer; ++i) {
      const auto found = before.find({core, p.deps[inst.first_dep + i]});
      if (found == before.end()) continue;
      const Event& producer = found->second;
      require(e.start >= (producer.lane == e.lane ? producer.start : producer.end), programs,
              "an explicit dependency is not kept");
    }
    before[{core, e.inst}] = e;
  }
}

void check_timeline(const Programs& programs, const Timeline& t, double executed) {
  check_events(programs, t);
  check_lanes(programs, t);
  if (!t.reordered) check_dependencies(programs, t);  // otherwise events are not in the order of the program
  Time sum = 0;
  for (const timing::CriticalStep& step : t.critical_path) sum += step.time;
  require(sum == t.total, programs, "the critical path does not add up to the total");
  require(static_cast<double>(t.instructions) == executed, programs, "not every instruction was counted");
  require(t.band.low <= t.total && t.total <= t.band.high, programs, "the total lies outside its band");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const Programs programs = isa::random_launch(choices, kLoops);
  for (const isa::Program& p : programs) {
    if (!check::check_program(p, arch(p.target)).ok()) return 0;
  }
  const timing::TimingOptions options = options_for(programs, choices);
  const double count = executed(programs, options);
  if (count > kMostExecuted) return 0;
  const isa::Launch launch = isa::Launch::of(programs);
  try {
    const Timeline t = timing::simulate(launch, arch(launch.target()), options);
    check_timeline(programs, t, count);
    const Timeline again = timing::simulate(launch, arch(launch.target()), options);
    require(again.total == t.total && again.events.size() == t.events.size(), programs,
            "another time when asked again");
  } catch (const Error& e) {
    require(e.first().category == Category::config, programs, e.what());
  }
  return 0;
}
