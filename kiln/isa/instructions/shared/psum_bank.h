// What the tensor engine writes on gen2 and gen3 lies in one bank of PSUM.
#pragma once

#include <string>

#include "kiln/isa/semantics/check.h"

namespace kiln::isa {

// The bytes between an operand's first and last element lie in one bank, wherever the loops move it.
bool lies_in_one_bank(const Check& c, int param);

// Which bytes those are, for a diagnostic.
std::string bank_text(const Check& c, int param);

}  // namespace kiln::isa
