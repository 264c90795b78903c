// Lengths: how long a program takes, and how long when one loop or another goes round more often. What these runs have
// in common is simulated once: each of them begins where the loop of the first one ends, and ends where what follows
// only comes later than there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kiln/timing/simulate.h"

namespace kiln::timing {

struct Length {
  Time total, dma_busy;  // as in a Timeline
};

// A static loop, and how often it goes round instead; not less often than in the program.
struct MorePasses {
  isa::LoopId loop;
  std::int64_t passes;
};

struct Lengths {
  Length as_written;
  std::vector<Length> longer;  // for each of the loops, longer by itself
  bool reordered;              // all of them: the order that is the faster one as written, unless the options say
};

// What simulate() says of each. Nothing for programs of several cores and ranks, and for long ones, in which simulate()
// may leave passes out.
std::optional<Lengths> lengths(const isa::Launch& launch, const Arch& arch, const TimingOptions& options,
                               std::span<const MorePasses> loops);

}  // namespace kiln::timing
