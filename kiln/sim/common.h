// What the cores of a rank have in common; what stands by reference is that of the whole run.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/origins.h"
#include "kiln/sim/race.h"
#include "kiln/sim/task.h"

namespace kiln::sim {

struct Common {
  TaskQueue& queue;
  RunReport& report;
  Origins& origins;
  isa::WarningSink& warnings;
  std::int64_t& sequence;  // instructions issued so far
  int rank = 0, ranks = 1;
  std::int64_t entered = 0;  // collectives that the rank has entered so far
  SharedTensors tensors = {};
  int cores = 1;
  std::set<std::string, std::less<>> written = {};  // shared tensors that some core may write, by name
  Races races = {};
  bool may_borrow = false;  // no buffer that is written lies over an input
  std::atomic<double>* done = nullptr;
  double expected = 0;  // instructions in all; 0: not known
};

}  // namespace kiln::sim
