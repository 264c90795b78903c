// Loads that need no copy: a tile that is loaded whole from an input holds the input's bytes until something
// writes to it. Until then it is read where the input lies; the copy is made before the first write.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/bindings.h"

namespace kiln::sim {

// A load that was left out.
struct Loan {
  const isa::Instruction* load = nullptr;
  std::int64_t sequence = 0;
  Binding own = {};  // where the tensor lived before
  isa::Tile to, from;
};

// A tensor that an instruction replaces while it reads it where the input lies.
struct Lent {
  isa::TensorId tensor;
  Binding from;
};

class Loans {
 public:
  // Without `may_borrow` every load is a copy.
  explicit Loans(bool may_borrow) : may_borrow_(may_borrow) {}

  bool empty() const { return loans_.empty(); }
  // Moves the tensor that a DMA copy loads to where the input lies; false when the copy has to be made.
  bool borrow(const isa::Run& run, Bindings& bindings);
  // Moves a tensor back to its own storage, and tells which copy has to be made; nothing when it lives there.
  std::optional<Loan> end(isa::TensorId id, Bindings& bindings);
  // The same where all of the tensor is going to be written, so that no copy is made: where its old content lies.
  std::optional<Lent> replace(isa::TensorId id, Bindings& bindings);
  // The tensor's content is not needed any more.
  void forget(isa::TensorId id) { loans_.erase(id); }

 private:
  const bool may_borrow_;
  std::unordered_map<isa::TensorId, Loan> loans_;
};

}  // namespace kiln::sim
