// What travels when ranks meet in a collective: the tiles of the cores that wait in it, as parcels and back.
#pragma once

#include <vector>

#include "kiln/num/kernels.h"
#include "kiln/sim/core.h"

namespace kiln::sim {

class FarOrigins;
class Processes;
class Scratch;

// A core that waits in a collective.
struct Party {
  int rank;
  isa::InstView view;
  Core* core;       // null: of another process
  int process = 0;  // whose it is
};

struct ExchangeOptions {
  const Arch& arch;
  const Kernels& kernels;
  int threads;
  bool with_shadows;                // bytes that were never written may be among those that travel
  Processes* processes = nullptr;   // of the parties; null: all are here
  const FarOrigins* far = nullptr;  // with shadows between processes
  Scratch* scratch = nullptr;       // with processes
};

// Whether everything that a waiting core sends was written.
bool sends_written_bytes(Core& core);

// The cores, in the order of their replica group, wait in the same collective, and all values are there.
void exchange(const std::vector<Party>& parties, const ExchangeOptions& options);

}  // namespace kiln::sim
