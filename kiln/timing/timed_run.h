// TimedRun: the programs of a run, the chip and its timeline. What every view looks at.
#pragma once

#include <span>
#include <vector>

#include "kiln/analysis/trips.h"
#include "kiln/arch/arch.h"
#include "kiln/base/place.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/launch.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {

struct TimedRun {
  isa::Launch launch;
  Arch arch;  // as the options' what-if left it
  TimingOptions options;
  Timeline timeline;

  std::vector<const isa::Program*> programs;  // that were timed: of one rank of each kind, core by core

  std::span<const isa::Program* const> cores() const { return programs; }
  const isa::Program& program_of(const Event& event) const { return *cores()[timeline.lanes[event.lane].core]; }
  isa::InstView instruction_of(const Event& event) const {
    const isa::Program& program = program_of(event);
    return {program, program.instructions[event.inst]};
  }

  analysis::TripCounts trips(int core) const;
};

// The source line of an event's instruction.
Place place_of(const TimedRun& run, const Event& event);

// Runs the model. The programs have passed check and outlive the result. Throws Error when a trip count is
// missing or a what-if name is unknown.
TimedRun time_program(isa::Launch launch, TimingOptions options = {});

// Whether the timeline has every iteration of every loop.
inline bool is_in_full(const TimedRun& run) { return run.timeline.gaps.empty(); }

// Like time_program, but simulates every iteration of loops when the program executes at most
// `max_instructions` instructions, so that a picture shows all of them.
TimedRun time_in_full(isa::Launch launch, TimingOptions options = {}, std::int64_t max_instructions = 200'000);

}  // namespace kiln::timing
