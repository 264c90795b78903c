// What the compiler made of a tensor program, in words: its groups with tiles, bytes, time and what bounds it, what
// goes through HBM, and what was second best.
#pragma once

#include <string>

#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

// Times the program, so that each group has its time.
std::string report_text(const Compiled& compiled);

}  // namespace kiln::tensor
