// Storage: where the values of a program lie in HBM, and which of them stay in SBUF.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kiln/tensor/lower/residency.h"
#include "kiln/tensor/lower/tile.h"

namespace kiln::tensor {

// What the regions of a program share.
struct Storage {
  std::map<Value, isa::View> of;       // by base
  std::map<Value, isa::Index> begins;  // of those that begin elsewhere than at the first element of their storage
  std::vector<isa::View> outputs;
  Residency residency;
  std::set<Value> no_numbers;                // that may be NaN or infinite, for a chip that multiplies to transpose
  bool is_alike = false;                     // whatever values are, the same instructions compute a row
  bool regroups = false;                     // copies in another order, in SBUF
  std::map<Value, Tile> kept;                // by base: (rows, elements of a row) in SBUF
  std::map<int, Tile> kept_outputs;          // of a body: state that stays in SBUF
  std::map<std::pair<int, int>, Tile> held;  // of a body, by region and load: matrices that are there for all passes

  isa::Index begin(Value base) const {
    const auto found = begins.find(base);
    return found == begins.end() ? isa::Index(0) : found->second;
  }
};

}  // namespace kiln::tensor
