// Live intervals: from where to where in a program an on-chip tensor or a register holds something.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

// The statements of a program in the order they are written, numbered from 0. A loop's number is its head's;
// the statements of its body follow.
using Position = std::uint32_t;

// Both ends included. Empty by default.
struct Interval {
  Position begin = 1, end = 0;
  bool empty() const { return begin > end; }
  bool overlaps(const Interval& other) const { return begin <= other.end && other.begin <= end; }
  bool contains(Position p) const { return begin <= p && p <= end; }
  bool operator==(const Interval&) const = default;
};

// A value lives from its first use to its last one; declaring a tensor alone takes no memory. What is
// declared outside a loop and used in it lives through the whole loop, since the next pass may need it; what
// is declared in the body lives in the body only. On-chip inputs of a fragment live from the start, on-chip
// outputs to the end.
struct Liveness {
  std::vector<isa::Node> nodes;   // by position
  std::vector<Interval> tensors;  // empty: in HBM, or never used
  std::vector<bool> read_first;   // tensors whose first use reads: their bytes came from elsewhere
  std::vector<bool> is_read;      // tensors that an instruction reads without writing to them
  std::vector<Interval> registers;
};
Liveness live_intervals(const isa::Program& program);

// From the first use to the last one: the same for tensors of HBM too, without what the interface of a fragment adds.
Liveness use_intervals(const isa::Program& program);

// Where a statement stands in the user's source.
const SourceLoc& loc_of(const isa::Program& program, const isa::Node& node);

}  // namespace kiln::analysis
