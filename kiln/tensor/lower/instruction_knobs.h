// The other half of the space that level 3 searches: single instructions of a program that is made. A DMA may be
// started in another way, an instruction may run on another engine, and both may go in pieces, so that whoever waits
// for them begins with the first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

struct InstructionKnob {
  enum class What : std::uint8_t { place, pieces };
  isa::InstructionId instruction = 0;
  What what = What::place;
  int kind = 0;             // instructions of one kind are also changed together
  std::vector<int> values;  // that are legal; 0, as the program has it, is always one more
  int key() const { return static_cast<int>(instruction) * 2 + static_cast<int>(what); }
};

// What can be changed in a program, in the order of its instructions.
std::vector<InstructionKnob> instruction_knobs(const isa::Program& program, const Arch& chip);

// Changes: pairs of a knob's key and its value, ascending by key.
using Changes = std::span<const int>;

// The program, and its peer, with these changes. Nothing where one of them cannot be made.
std::optional<Compiled> changed(const Compiled& made, Changes changes);
std::string describe(const isa::Program& program, Changes changes);

}  // namespace kiln::tensor
