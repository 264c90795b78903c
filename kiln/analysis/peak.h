// The most bytes that are alive at one moment: less memory than that can hold no placement, however clever.
#pragma once

#include <span>

#include "kiln/analysis/liveness.h"
#include "kiln/arch/arch.h"

namespace kiln::analysis {

using QuadrantMask = std::uint8_t;

// A tensor that needs `bytes` bytes in each of `quadrants` groups of partitions while `live`. Hand-placed
// ones also have their place; several of those may share bytes.
struct Demand {
  Interval live;
  std::int64_t bytes = 0;
  int quadrants = 1;
  bool placed = false;
  std::int64_t offset = 0;  // placed
  QuadrantMask mask = 0;    // placed
};

struct Peak {
  std::int64_t bytes = 0;  // per partition, as if small tensors filled the quadrants evenly
  Position at = 0;
};

// In a memory of so many quadrants. Bytes of hand-placed tensors past `limit` do not count.
Peak find_peak(std::span<const Demand> demands, std::int64_t limit, int quadrants = 1);

}  // namespace kiln::analysis
