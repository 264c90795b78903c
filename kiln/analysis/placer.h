// Placing: an address for each of some tensors of one memory, those that are alive together side by side.
#pragma once

#include <vector>

#include "kiln/analysis/in_place.h"
#include "kiln/analysis/peak.h"

namespace kiln::analysis {

// A used tensor of the memory at hand.
struct Item : Demand {
  isa::TensorId tensor = isa::kNone;
  std::int32_t partition = 0;  // with the offset its place, or its place so far
  isa::Address address() const { return {partition, offset}; }
};

// How a memory wants to be filled.
struct Layout {
  std::int64_t available_bytes;
  std::int64_t align, least_align;
  std::int64_t bank_bytes;  // 0: no banks
  int quadrants;

  // The first offset from `offset` on where `bytes` bytes may start.
  std::int64_t next_start(std::int64_t offset, std::int64_t bytes) const;
};

// Quadrants from one start to the next at which a tensor of so many may start: the start-partition rule.
int start_step(const Layout& layout, int quadrants);

// Gives all items that are not placed by hand an address; partners of `in_place` (null: none) may share bytes.
// Otherwise returns the item at which the most natural try failed; kNone when there is none.
std::uint32_t place_all(std::vector<Item>& items, Layout layout, const InPlace* in_place = nullptr);

}  // namespace kiln::analysis
