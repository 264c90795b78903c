// What the compiler made of a tensor program, in words: its groups with tiles, bytes, time and what bounds it, what
// goes through HBM, and what was second best.
#pragma once

#include <string>
#include <vector>

#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

// Times the program, so that each group has its time.
std::string report_text(const Compiled& compiled);

// By core, by InstructionId: the group of an instruction in a few words, for comments in emitted source.
std::vector<std::vector<std::string>> groups_in_words(const Compiled& compiled);

}  // namespace kiln::tensor
