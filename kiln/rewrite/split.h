// Instructions in pieces, one after the other, each of which does some of the elements: whoever waits for the first
// elements begins earlier, and several engines have something to do at once.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

// The dimension of its tiles along which an instruction falls into so many pieces that compute the same together: one
// of copies, operators between tiles, functions with or without the sum of a row, and products. Nothing: there is none.
std::optional<int> split_dim(const isa::Program& program, const isa::Instruction& inst, int pieces);

struct Split {
  isa::Program program;
  std::vector<isa::InstructionId> now;  // by instruction: its first piece; one more: how many there are
};
// The given instructions in so many pieces each; split_dim gives something for all of them. Instructions are numbered
// anew, in the order in which they stand.
Split split(const isa::Program& program, const std::map<isa::InstructionId, int>& pieces);

}  // namespace kiln::rewrite
