// Stores that need no copy: a tile whose life ends with a store to an output is computed where the output
// lies.
#pragma once

#include <unordered_map>

#include "kiln/isa/program.h"

namespace kiln::sim {

class Deposits {
 public:
  // Finds the tiles that are stored whole to rows of an output which nothing else touches meanwhile.
  explicit Deposits(const isa::Program& program);

  // The store that ends the life of a tensor; null when there is none, or when it has to copy.
  const isa::Instruction* store_of(isa::TensorId id) const {
    const auto it = stores_.find(id);
    return it == stores_.end() ? nullptr : it->second;
  }

 private:
  std::unordered_map<isa::TensorId, const isa::Instruction*> stores_;
};

}  // namespace kiln::sim
