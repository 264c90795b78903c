// What travels when ranks meet in a collective: the tiles of the cores that wait in it, as parcels and back.
#pragma once

#include <vector>

#include "kiln/num/kernels.h"
#include "kiln/sim/core.h"

namespace kiln::sim {

struct Party {
  int rank;
  Core* core;
};

// The cores, in the order of their replica group, wait in the same collective, and all values are there.
void exchange(const std::vector<Party>& parties, const Arch& arch, const Kernels& kernels, int threads);

}  // namespace kiln::sim
