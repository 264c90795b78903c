// Ranks that run together and meet in collectives. One thread issues the instructions of all of them, rank by rank,
// each as far as it comes; their values are computed by all threads. So the result depends on no schedule.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "kiln/sim/core.h"

namespace kiln::sim {

struct Rank {
  Common common;
  std::vector<std::unique_ptr<Core>> cores = {};
  bool ended = false;

  bool waits() const { return !ended && !cores.empty() && cores[0]->waiting_at(); }
};

// Runs all ranks to their end. Ranks that wait for each other in vain are reported, with what each of them does.
void run_ranks(std::list<Rank>& ranks, const Arch& arch, const Kernels& kernels);

}  // namespace kiln::sim
