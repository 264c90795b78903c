// Sweep: places many items in the order of the program, each at the lowest free address, in little time for each
// however many are alive.
#pragma once

#include "kiln/analysis/placer.h"

namespace kiln::analysis {

// Whether it can: nothing is placed by hand, and there are no banks.
bool can_sweep(const std::vector<Item>& items, const Layout& layout);

struct Swept {
  std::uint32_t failed = isa::kNone;  // the first item that found no place
  bool hopeless = false;              // with this alignment more is alive at once than there is room for in any order
};
// `order`: the items by their beginnings.
Swept sweep(std::vector<Item>& items, const Layout& layout, const std::vector<std::uint32_t>& order);

}  // namespace kiln::analysis
