// Ramp: the left-out iterations of loops, as seen from one access of their body. What comes later waits for them as if
// they had been simulated.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kiln/analysis/box.h"
#include "kiln/timing/issue.h"

namespace kiln::timing {

using analysis::Box;

struct Ramp {
  // The left-out periods of one loop: the one that is k = 1 … `count` periods back lies k * step away.
  struct Axis {
    std::array<std::int64_t, analysis::kBoxRank> step{};
    std::int64_t count;
    Time period;
  };
  Box box;                 // as `op` touched it
  std::vector<Axis> axes;  // loops from the outside in: a pass of one lasts longer than all that the next leaves out
  OpId op;
  bool writes;

  // How long before `op` an iteration that it stands for last touched bytes of the other box; nothing when none did.
  // Where inner loops leave holes the answer may be too late by less than a pass of the outer one.
  std::optional<Time> latest_overlap(const Box& other) const;
};

}  // namespace kiln::timing
