// What a fuzz target holds its inputs to: a broken requirement ends the process, as fuzzers want it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kiln/isa/text/print.h"

namespace kiln {

using Programs = std::vector<isa::Program>;  // one per core

inline void require(bool ok, const char* what) {
  if (ok) return;
  std::printf("%s\n", what);
  std::fflush(stdout);
  std::abort();
}

// Shows the programs, too.
inline void require(bool ok, const Programs& programs, const char* what) {
  if (ok) return;
  for (const isa::Program& p : programs) std::printf("%s", isa::print(p).c_str());
  require(ok, what);
}

}  // namespace kiln
