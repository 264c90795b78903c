// Allocation: an address for every on-chip tensor that is used, so that no two that are alive together share
// bytes.
#pragma once

#include <optional>
#include <vector>

#include "kiln/analysis/liveness.h"
#include "kiln/arch/arch.h"

namespace kiln::analysis {

// One memory of one core, in bytes per partition.
struct MemoryUse {
  std::int64_t available_bytes = 0;
  std::int64_t peak_bytes = 0;     // most bytes alive in one partition at one moment
  Position peak_at = 0;            // where that is reached first
  std::int64_t written_bytes = 0;  // the same in the order of the program, of an allocation for another order
  std::int64_t highest_bytes = 0;  // end of the highest address in use
  bool in_place = false;           // counted with destinations that take the bytes of sources
};

// A memory whose tensors found no place.
struct Overflow {
  Memory memory = Memory::sbuf;
  bool too_much = false;              // more bytes are alive than there are; else the pieces do not fit together
  isa::TensorId tensor = isa::kNone;  // pieces: one that found no gap
  Position at = 0;                    // where it happens
};

struct Allocation {
  std::vector<std::optional<isa::Address>> address;  // by tensor; those in HBM and unused ones have none
  MemoryUse sbuf, psum;
  std::vector<Overflow> overflows;  // at most one per memory

  const MemoryUse& use(Memory memory) const { return memory == Memory::psum ? psum : sbuf; }
  MemoryUse& use(Memory memory) { return memory == Memory::psum ? psum : sbuf; }
  bool complete() const { return overflows.empty(); }
};

// Hand-placed tensors stay where they are and must obey the placement rules (placement.h); the rest is placed
// around them. A tensor starts at a partition that its partition count allows. In SBUF it is aligned to 32
// bytes, or to 4 when that is too wasteful. In PSUM a tensor of at most one bank stays inside a bank, and a
// larger one starts with a bank. When that does not fit, a destination may lie over a source that ends in the
// instruction in which it begins (in_place.h).
Allocation allocate(const isa::Program& program, const Arch& arch, const Liveness& liveness);

// Bytes of each partition that tensors may use.
std::int64_t available_bytes(const Arch& arch, Memory memory);

// Quadrants of 32 partitions that `count` partitions from `first` on reach into, bit per quadrant.
std::uint8_t quadrants_of(std::int64_t first, std::int64_t count);

// May a tile of `count` partitions start at partition `first`? Whether it ends inside the memory is another rule.
bool is_start_partition(std::int64_t first, std::int64_t count);

}  // namespace kiln::analysis
