// Stores that need no copy: a tile whose life ends with a store to an output is computed where the output
// lies. So is one that begins with a load of the same bytes, which then needs no copy either, where inputs are written
// in place.
#pragma once

#include <memory>
#include <unordered_map>

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/loop_stack.h"
#include "kiln/sim/operand.h"

namespace kiln::sim {

class Deposits {
 public:
  // Finds the tiles that are stored whole to rows of an output which nothing else touches meanwhile. Without
  // `may_deposit` every store is a copy; without `in_inout` every one to a tensor that is an input, too.
  Deposits(const isa::Program& program, bool may_deposit, bool in_inout);

  // The bytes that the store of a tensor will write, when the tensor that comes to life now can be computed there;
  // else null. Whoever still uses those bytes stands before every user of the tensor.
  std::shared_ptr<Storage> place(isa::TensorId id, const Bindings& bindings, const LoopStack& loops) const;

  // The tensor that the store of a tensor writes to, when the tensor may be computed there; isa::kNone for others.
  isa::TensorId target_of(isa::TensorId id) const;

  // Whether the bytes of a DMA copy are there already. The users of its tile are then handed on to the output.
  bool is_done(const isa::Run& run, const Operands& operands, const Bindings& bindings) const;

 private:
  const isa::Program& program_;
  std::unordered_map<isa::TensorId, const isa::Instruction*> stores_;  // that end the life of a tensor
};

}  // namespace kiln::sim
