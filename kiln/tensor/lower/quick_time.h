// How long a program takes, for choosing between programs: long loops are timed for a few passes, and what one more
// pass takes stands for the rest.
#pragma once

#include <optional>

#include "kiln/isa/launch.h"

namespace kiln::tensor {

// What timings of programs that are compared have in common: whether the first one with long passes was quicker with
// its instructions reordered, or in program order. The others with such passes are timed in that order alone.
struct LongPasses {
  std::optional<bool> are_reordered;
};

inline constexpr double kTimedInFull = 600;  // instructions

// Its programs have passed check. One of at most `in_full` instructions is timed as it is.
double quick_time_ns(const isa::Launch& launch, double in_full = kTimedInFull, LongPasses* common = nullptr);

// The same of what `kiln time` times (as_timed.h).
struct SeenTime {
  double ns;
  bool is_balanced;  // instructions without an engine went to another one
};
SeenTime quick_time_as_seen(const isa::Launch& launch, double in_full = kTimedInFull);

}  // namespace kiln::tensor
