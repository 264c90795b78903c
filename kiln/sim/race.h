// Races: accesses of the two cores of a pair to the same bytes that nothing orders. The cores meet in
// sendrecv and core_barrier; with two cores a vector clock is one number, the count of meetings, and two
// accesses are ordered exactly when meetings lie between them.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/sim/byte_map.h"
#include "kiln/sim/operand.h"

namespace kiln::sim {

using ByteRanges = std::vector<std::pair<std::int64_t, std::int64_t>>;  // [begin, end) of a storage

// Whether an access reaches rows that a tile of indices names.
bool is_scattered(const isa::Program& program, const isa::Access& access);

class Races {
 public:
  // The cores met: what was done before is ordered before what comes.
  void meet() { ++phase_, sites_.clear(); }

  // An access of another core to the same bytes since the last meeting; null instruction when it is one of
  // many.
  struct Clash {
    bool found = false;
    bool they_write = false;   // else they read only
    bool at_run_time = false;  // they write, and the run decides where
    const isa::Program* program = nullptr;
    const isa::Instruction* inst = nullptr;
    // Of a write: the bytes that they touched and this core writes for the first time since the meeting, and
    // those of them that they wrote at the rows of an index tile.
    ByteRanges ranges, scattered;
  };
  // Whether the last write of `core` to a byte since the meeting was at the rows of an index tile.
  bool is_scattered(int core, const Storage& storage, std::int64_t byte);
  // Records an access of `core` (0 or 1) and tells what it clashes with. Bytes that both cores write are each
  // core's own: that the values agree is checked when they meet.
  Clash access(int core, const isa::Program& program, const isa::Instruction& inst, const Operand& operand,
               bool writes);

 private:
  struct Maps {
    std::int64_t phase = -1;
    ByteMap read[2], write[2];  // 0: not since the last meeting; else the site, with how it writes
  };
  std::uint8_t site(const isa::Instruction& inst);
  Maps& maps(const Storage& storage);
  static void add_ranges(const Maps& m, int core, std::int64_t begin, std::int64_t end, Clash& clash);

  std::int64_t phase_ = 0;
  std::vector<const isa::Instruction*> sites_;
  const isa::Program* programs_[2] = {};  // by core
  std::unordered_map<const Storage*, Maps> maps_;
};

}  // namespace kiln::sim
