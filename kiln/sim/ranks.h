// Ranks that run together and meet in collectives. One thread issues the instructions of all of them, rank by rank,
// each as far as it comes; their values are computed by all threads. So the result depends on no schedule. Where
// processes share the ranks, each does so with its own, and all processes know where every rank waits.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "kiln/sim/core.h"
#include "kiln/sim/processes.h"

namespace kiln::sim {

// Where a core waits in a collective.
struct Stop {
  const isa::Program* program;
  const isa::Instruction* inst;
  isa::Pass pass;

  isa::InstView view() const { return {*program, *inst}; }
};

struct Rank {
  Common common;
  std::vector<std::unique_ptr<Core>> cores = {};  // none: of another process
  int process = 0;                                // whose it is
  bool ended = false;
  std::vector<Stop> stops = {};  // of each core; none while it goes on
  bool sends_written = true;     // what it sends there, all of it
  bool shares_tensors = false;   // its cores name the same tensors there

  bool is_here() const { return !cores.empty(); }
  bool waits() const { return !ended && !stops.empty(); }
};

// Runs all ranks to their end. Ranks that wait for each other in vain are reported, with what each of them does.
void run_ranks(std::list<Rank>& ranks, const isa::Launch& launch, const Arch& arch, const RunOptions& options);

}  // namespace kiln::sim
