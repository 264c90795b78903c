// Lifetimes: after which statement a declared tensor is used no more.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

// For whoever executes a program. A tensor that is declared outside a loop and used in it last dies after the loop; one
// that is never used, where it is declared.
class Lifetimes {
 public:
  explicit Lifetimes(const isa::Program& program);
  // Tensors declared in the body of `loop` (isa::kNone: the program's own) that die after its statement `position`,
  // in the order of their ids.
  std::span<const isa::TensorId> after(isa::LoopId loop, std::size_t position) const;

 private:
  std::vector<isa::TensorId> dying_;  // in order of the statement after which they die
  std::vector<std::uint32_t> first_;  // by statement: its first one in dying_, and one past the last statement
  std::vector<std::size_t> base_;     // by block, the program's own and then those of loops: its first statement
};

}  // namespace kiln::analysis
