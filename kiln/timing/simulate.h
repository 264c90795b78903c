// The timing model: a Launch and an Arch in, a Timeline out. Deterministic, knows no values.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "kiln/arch/arch.h"
#include "kiln/isa/launch.h"
#include "kiln/timing/program_change.h"
#include "kiln/timing/timeline.h"
#include "kiln/timing/what_if.h"

namespace kiln::timing {

// What loops may need at most, in instructions that are simulated one by one: some ten seconds.
inline constexpr std::int64_t kTimingLimit = 10'000'000, kMostTimingLimit = 1'000'000'000;

struct TimingOptions {
  // Trip counts of dynamic loops, by the loop's variable (or its condition register). A dynamic loop whose
  // bounds are integers needs none; any other without an entry here is an error, and so is an entry that no
  // loop takes.
  std::map<std::string, std::int64_t> trip_counts;
  // Whether each engine's stream is list-scheduled, as the vendor's compiler may, or in program order. Unless said, it
  // is scheduled when no more instructions than reorder_up_to are executed, since each is then taken one by one.
  std::optional<bool> reorder;
  std::int64_t reorder_up_to = 300'000;  // about half a second
  bool tries_program_order = true;       // where it is scheduled: program order too, which stays where it is faster
  std::string topology;                  // of arch/topologies.h; empty: the first of the chip
  std::vector<WhatIf> what_if;
  std::vector<ProgramChange> changes;         // by core; empty: the programs as they are
  std::size_t keep_events = 10'000'000;       // later events count in the totals but are not kept
  bool pictures_memory = true;                // false: Timeline::memory stays empty
  bool extrapolate = true;                    // false: every iteration is simulated; same result, slower
  double nested_from = 1'000'000;             // simulated instructions beyond which loops around loops are extrapolated
  const std::atomic<bool>* cancel = nullptr;  // set to true by another thread: simulate throws
  std::atomic<double>* done = nullptr;        // where to say which part of the work is done, 0 to 1
  std::int64_t limit = kTimingLimit;          // instructions of loops that are simulated one by one, at most
  std::int64_t max_memory = 0;                // bytes for what is kept of them; 0: kiln::default_max_memory()
};

// Whether a loop of the program takes its trip count from an entry of this name.
bool takes_trip_count(const isa::Program& program, const std::string& name);

// The chip with the topology and the what-if of the options. Throws Error when one of them is unknown.
Arch chip_of(const Arch& arch, const TimingOptions& options);

// Times programs that passed check::check_program. The two of a logical core pair share HBM bandwidth and meet in
// sendrecv and core_barrier; ranks meet in collectives. Of ranks that do the same, one is timed (rank_kinds.h); a
// launch of one rank takes the ranks that its collectives name to arrive with it. Throws Error (category config) when a
// trip count is missing, a topology or what-if is unknown, or the programs do not stand together (isa::verify_ranks).
Timeline simulate(const isa::Launch& launch, const Arch& arch, const TimingOptions& options = {});

}  // namespace kiln::timing
