// Loads of a part of a tile that need no copy: whoever reads a piece of the tile that lies in one row of the load reads
// it where the input lies. The copy is made when somebody reads anything else of the part, or writes to it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/bindings.h"

namespace kiln::sim {

// A load that was left out.
struct PostponedLoad {
  const isa::Instruction* load;
  std::int64_t sequence;
  isa::TensorId from_tensor;
  Storage* input;
  isa::Tile to, from;  // rows of both consist of runs that have no gaps
};

class Postponed {
 public:
  // Without `may_postpone` every load is a copy; without `from_inout` every load of a tensor that may be written to is.
  Postponed(bool may_postpone, bool from_inout) : may_postpone_(may_postpone), from_inout_(from_inout) {}

  bool empty() const { return loads_.empty(); }
  bool has(isa::TensorId id) const { return loads_.contains(id); }
  // A tensor with a postponed load from this one; isa::kNone when there is none.
  isa::TensorId reader_of(isa::TensorId from) const;
  // Leaves a DMA copy out; false when it has to be made.
  bool add(const isa::Run& run, const Bindings& bindings);
  // Whether a tile of the tensor has elements of a postponed load.
  bool meets(isa::TensorId id, const isa::Tile& tile) const;
  // Moves a tile to the input that a postponed load is of; null when it does not lie in one.
  Storage* move(isa::TensorId id, isa::Tile& tile) const;
  // The copies that have to be made now, in the order of the program.
  std::vector<PostponedLoad> take(isa::TensorId id);
  // The tensor's content is not needed any more.
  void forget(isa::TensorId id) { loads_.erase(id); }

 private:
  const bool may_postpone_, from_inout_;
  std::unordered_map<isa::TensorId, std::vector<PostponedLoad>> loads_;
};

}  // namespace kiln::sim
