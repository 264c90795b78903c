// Lifetimes: after which statement a declared tensor is used no more.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

class Lifetimes {
 public:
  explicit Lifetimes(const isa::Program& program);
  // Tensors declared in the block of `loop` (isa::kNone: the program's body) that die after its statement
  // `position`.
  std::span<const isa::TensorId> after(isa::LoopId loop, std::size_t position) const;

 private:
  void walk(const isa::Program& program, const isa::Block& block);
  void use(const isa::Program& program, const isa::Access& access);

  struct Place {
    std::size_t depth = 0, block = 0, last = 0;
    bool declared = false;
  };
  std::vector<Place> places_;         // by tensor
  std::vector<std::size_t> path_;     // positions of the statements that are open
  std::size_t block_ = 0;             // 0: the program's body, else loop + 1
  std::vector<isa::TensorId> dying_;  // in order of the statement after which they die
  std::vector<std::uint32_t> first_;  // by statement: its first one in dying_, and one past the last statement
  std::vector<std::size_t> base_;     // by block: its first statement
};

}  // namespace kiln::analysis
