// Do two accesses touch the same bytes?
#pragma once

#include "kiln/isa/program.h"

namespace kiln::isa {

// True when two accesses share some bytes without being the same elements in the same order. Two tensors can
// share bytes when both are placed by hand. Accesses whose offsets move differently with the loops, or at run
// time, are compared when their addresses are known (by the simulator).
bool overlaps_partially(const Program& program, const Access& a, const Access& b);

// Where the tensor of an access lies, for comparing.
struct PlacedAccess {
  const Access& access;
  Address at;
  std::int64_t partition() const { return at.partition + access.partition.constant; }
  std::int64_t byte() const { return at.byte_offset + access.offset.constant * size_bytes(access.dtype); }
};

// The same elements in the same order in every pass of every loop. Nothing is said of addresses that are known at run
// time only: false.
bool are_same_elements(const Program& program, const PlacedAccess& a, const PlacedAccess& b, bool on_chip);

// Instructions all of whose reads come before their writes: those that the manual lets work in place on any
// rows, and reductions of a partition to one value.
bool reads_all_first(const Program& program, const Instruction& inst);

// Whether an access reaches an element in more than one way through its dimensions from `first_dim` on.
bool meets_itself(const Access& access, int first_dim);

}  // namespace kiln::isa
