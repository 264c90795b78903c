// In place: which tensors may lie over each other because one ends in the instruction in which the other begins.
#pragma once

#include <vector>

#include "kiln/analysis/liveness.h"

namespace kiln::analysis {

// A source that an instruction is the last to use hands its bytes over to a destination that begins there. Of the bytes
// that both have, the instruction may read and write none (of a tensor that is written in part, the rest is free), or
// they are the very same elements, in the same order, at the same addresses and of the same dtype, and the instruction
// reads an element before it writes it (Facts::in_place).
//
// Only tensors that are not placed by hand hand over. A source is one that the instruction's own block declares: what
// comes from outside a loop is needed in the next pass. The program outlives this.
class InPlace {
 public:
  InPlace(const isa::Program& program, const Liveness& liveness);

  bool any() const { return any_; }
  // Whether one hands over to the other.
  bool are_partners(isa::TensorId a, isa::TensorId b) const { return hands_over(a, b) || hands_over(b, a); }
  // Whether a tensor takes bytes over where it begins, or hands them over where it ends.
  bool is_heir(isa::TensorId id) const { return begins_in_[id] != isa::kNone; }
  bool is_source(isa::TensorId id) const { return ends_in_[id] != isa::kNone; }

  // Whether partners may lie at these addresses.
  bool may_lie(isa::TensorId a, const isa::Address& at_a, isa::TensorId b, const isa::Address& at_b) const;
  // Appends the addresses of `tensor` at which it has the very elements of its partner.
  void append_places(isa::TensorId tensor, isa::TensorId partner, const isa::Address& partner_at,
                     std::vector<isa::Address>& out) const;

 private:
  bool hands_over(isa::TensorId from, isa::TensorId to) const {
    return ends_in_[from] != isa::kNone && ends_in_[from] == begins_in_[to];
  }
  void add(isa::InstructionId id, Position now, std::span<const isa::TensorId> dying, const Liveness& liveness);
  bool may_take(isa::InstructionId id, isa::TensorId source, const isa::Address& source_at, isa::TensorId heir,
                const isa::Address& heir_at) const;

  const isa::Program& program_;
  std::vector<isa::InstructionId> ends_in_, begins_in_;  // by tensor; kNone: it hands nothing over, takes nothing
  bool any_ = false;
};

}  // namespace kiln::analysis
