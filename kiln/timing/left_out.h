// LeftOut: the iterations of a core's loops that were not simulated.
#pragma once

#include <map>
#include <vector>

#include "kiln/timing/issue.h"

namespace kiln::timing {

// Where and how a loop left iterations out. When an outer loop is repeated, its inner loops do the same again.
struct Skip {
  isa::LoopId loop;
  OpId at;                  // executed instructions before it
  std::int64_t period;      // iterations after which the loop repeats itself
  std::int64_t periods;     // left out
  std::int64_t replayed;    // iterations after them that are repeated, not simulated
  Time each;                // of a period
  EventId first_event = 0;  // of the period that repeats
  std::size_t gap = 0;      // index into LeftOut::gaps

  std::int64_t iterations() const { return periods * period; }  // left out
};

struct LeftOut {
  int core;
  std::vector<Gap> gaps = {};
  std::vector<Skip> skips = {};                           // in order of `at`
  std::map<isa::LoopId, std::vector<bool>> outside = {};  // of loops that left iterations out, by tensor: used outside

  // The skip of this loop after so many executed instructions; null when there was none.
  const Skip* find(isa::LoopId loop, OpId at) const;
};

}  // namespace kiln::timing
